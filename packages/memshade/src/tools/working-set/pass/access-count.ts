import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { Countdown } from "./countdown.ts";

/** Counts the accesses of a basic block. */
export class AccessCount implements Insertion {
  accesses = 0;
  readonly #countdown: Countdown;

  constructor(countdown: Countdown) {
    this.#countdown = countdown;
  }

  write(sink: SnippetSink): void {
    this.#countdown.advance(sink, this.accesses);
  }
}
