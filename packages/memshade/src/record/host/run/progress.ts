import { writeSync } from "node:fs";
import { isatty } from "node:tty";

const STDERR = 2;
/** As often as anybody reads it, ms. */
const LEAST_MS = 100;

/** A line of progress on a terminal; nothing elsewhere. As with `say`, `process.stderr` is left alone. */
export class Progress {
  readonly #what: string;
  readonly #isShown: boolean;
  #shownAt = 0;

  constructor(what: string, isShown = isatty(STDERR)) {
    this.#what = what;
    this.#isShown = isShown;
  }

  show(done: number, total: number): void {
    if (!this.#isShown) return;
    const now = Date.now();
    if (now - this.#shownAt < LEAST_MS && done < total) return;
    this.#shownAt = now;
    writeSync(STDERR, `\r\x1b[Kmemshade: ${this.#what}: ${done} of ${total}`);
  }

  clear(): void {
    if (this.#shownAt !== 0) writeSync(STDERR, "\r\x1b[K");
    this.#shownAt = 0;
  }
}
