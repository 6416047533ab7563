import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { Countdown } from "./countdown.ts";

/** Counts the accesses of a region. A poll also ends the interval if it is due. */
export class AccessCount implements Insertion {
  accesses = 0;
  isPoll: boolean;
  /** Something else counts these accesses, or there are none. */
  isLeftOut = false;
  readonly #countdown: Countdown;
  readonly #position: number;

  constructor(countdown: Countdown, position: number, isPoll: boolean) {
    this.#countdown = countdown;
    this.#position = position;
    this.isPoll = isPoll;
  }

  write(sink: SnippetSink): void {
    if (this.isLeftOut) return;
    if (this.isPoll) {
      sink.mark(this.#position);
      this.#countdown.poll(sink, this.accesses);
    } else this.#countdown.advance(sink, this.accesses);
  }
}
