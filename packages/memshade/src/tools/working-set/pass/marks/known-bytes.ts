import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import { LINE_BYTES } from "./place-group.ts";

/** Earlier accesses that a new one is compared with; a bound for very long straight code. */
const MOST_COMPARED = 48;

/**
 * The bytes that are sure to have been touched at the place of the walk, as base values and offsets: by accesses that it can
 * only have come through, as long as nothing can have forgotten them.
 */
export class KnownBytes {
  readonly #base: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  readonly #position: number[] = [];

  forgetAll(): void {
    this.#cut(0);
  }

  /** The walk may have come past everything since `position`. */
  forgetSince(position: number): void {
    let length = this.#position.length;
    while (length > 0 && this.#position[length - 1] >= position) length--;
    this.#cut(length);
  }

  #cut(length: number): void {
    for (const column of [this.#base, this.#from, this.#to, this.#position]) column.length = length;
  }

  add(base: number, from: number, to: number, position: number): void {
    this.#position.push(position);
    this.#base.push(base);
    this.#from.push(from);
    this.#to.push(to);
  }

  /** Whether one of the accesses has touched all of `[from, to)`. */
  covers(base: number, from: number, to: number): boolean {
    for (let i = this.#base.length - 1, left = MOST_COMPARED; i >= 0 && left > 0; i--, left--)
      if (this.#base[i] === base && this.#from[i] <= from && this.#to[i] >= to) return true;
    return false;
  }

  /** Whether the line of a byte was touched: two touched bytes at most a line apart leave no line between them. */
  hasLineOf(base: number, offset: number): boolean {
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (let i = this.#base.length - 1, left = MOST_COMPARED; i >= 0 && left > 0; i--, left--) {
      if (this.#base[i] !== base) continue;
      const [first, last] = [this.#from[i], this.#to[i] - 1];
      if (first <= offset && offset <= last) return true;
      if (base === CONSTANT) {
        if (first >>> LINE_SHIFT <= offset >>> LINE_SHIFT && last >>> LINE_SHIFT >= offset >>> LINE_SHIFT)
          return true;
      } else if (last < offset) below = Math.max(below, last);
      else above = Math.min(above, first);
    }
    return above - below <= LINE_BYTES;
  }
}
