import { I32 } from "../../../code/wasm/index.ts";
import type { WalkState } from "../../rewrite/tool.ts";
import { NO_LOCAL } from "../../rewrite/walk/value-numbers.ts";
import { extraLocal } from "../../rewrite/write/temporaries.ts";
import type { FrameSnippets } from "./frame-snippets.ts";

/** Where the host stands, kept in a local of the function across calls behind which that may have changed. */
export class KeptHost {
  readonly #snippets: FrameSnippets;
  #local = NO_LOCAL;

  constructor(snippets: FrameSnippets) {
    this.#snippets = snippets;
  }

  /** A function's walk begins. */
  begin(): void {
    this.#local = NO_LOCAL;
  }

  /** `leaves`: the call between the offsets has certainly gone out of the module. */
  around({ insertions, temporaries }: WalkState, start: number, end: number, leaves: boolean): void {
    if (this.#local === NO_LOCAL) this.#local = extraLocal(temporaries, I32);
    const local = this.#local;
    insertions.add(start, { write: (sink) => this.#snippets.keepHost(sink, local) });
    insertions.add(end, { write: (sink) => this.#snippets.returned(sink, local, leaves) });
  }
}
