import type { Insertions } from "../../../rewrite/write/insertions.ts";

/**
 * Where a function looks whether the log is nearly full: when it begins, in each trip of a loop, and behind calls. So all that
 * is logged between two looks are the loads of one function, each once, and of the one it comes back to.
 */
export class LogLooks {
  /** Insertion of the look at the beginning, −1: there is none. */
  #first = -1;
  /** Where the function's last load logs; −1: none does. */
  #last = -1;
  /** Looks behind calls, by their insertions. */
  readonly #calls: { position: number; entry: number }[] = [];
  /** Loops around the place at hand: the look in each trip, and the last load before it. */
  readonly #loops: { entry: number; before: number }[] = [];

  begin(entry: number): void {
    this.#first = entry;
    this.#last = -1;
    this.#calls.length = 0;
    this.#loops.length = 0;
  }

  /** A load at a position logs what it finds. */
  logs(position: number): void {
    this.#last = position;
  }

  called(position: number, entry: number): void {
    this.#calls.push({ position, entry });
  }

  enterLoop(entry: number): void {
    this.#loops.push({ entry, before: this.#last });
  }

  /** `isFollowed`: its loads log, and are not left to the runtime. */
  leaveLoop(isFollowed: boolean, insertions: Insertions): void {
    const loop = this.#loops.pop();
    if (loop === undefined || loop.entry < 0) return;
    if (!isFollowed) this.#last = loop.before;
    if (this.#last === loop.before) insertions.remove(loop.entry);
  }

  /** Looks behind which nothing is logged are not needed. */
  end(insertions: Insertions): void {
    for (const { position, entry } of this.#calls) if (position > this.#last) insertions.remove(entry);
    if (this.#first >= 0 && this.#last < 0) insertions.remove(this.#first);
  }
}
