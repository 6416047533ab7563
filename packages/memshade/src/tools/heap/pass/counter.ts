import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { HeapSnippets } from "./heap-snippets.ts";

/** Stands behind an access and counts it, and others of the same base. */
export class Counter implements Insertion {
  readonly #snippets: HeapSnippets;
  /** The local that holds the counted address before `displacement` is added; may be a temporary. */
  local = 0;
  displacement = 0;
  /** What it adds: (accesses << 1) | (1 if one of them reads). */
  word = 0;
  /** Value number of the address, and how far the counted address is from it. */
  base = 0;
  offset = 0;
  /** The counter of the same base before it, in the same stretch of code; −1 if there is none. */
  previous = -1;
  /** Something else counts these accesses. */
  isLeftOut = false;
  /** It is a call: smaller and slower. */
  isOutlined = false;

  constructor(snippets: HeapSnippets) {
    this.#snippets = snippets;
  }

  write(sink: SnippetSink): void {
    if (this.isLeftOut) return;
    if (this.isOutlined) this.#snippets.callCount(sink, this);
    else this.#snippets.count(sink, this);
  }
}
