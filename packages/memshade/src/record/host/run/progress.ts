import { writeSync } from "node:fs";
import { isatty } from "node:tty";

const STDERR = 2;
/** Shortest time between two updates, ms. */
const LEAST_MS = 100;

/** Line of progress on a terminal; nothing elsewhere. Like `say`, it does not use `process.stderr`. */
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
