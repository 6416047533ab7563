import { grown } from "../../../../rewrite/walk/operand-stack.ts";
import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import { LINE_BYTES } from "./place-group.ts";

/** Earlier marks of one base that are compared with a new place; a bound for very long straight code. */
const MOST_COMPARED = 32;

/**
 * The marks that are known at the place of the walk, by base value: those made wherever the walk can only come through,
 * as long as no snapshot can have cleared them. A place between two marked ones at most a line apart is marked too.
 */
export class KnownMarks {
  #length = 0;
  #offset: Int32Array = new Int32Array(1024);
  #kinds: Int32Array = new Int32Array(1024);
  #position: Int32Array = new Int32Array(1024);
  /** The mark of the same base before this one, −1 if there is none. */
  #previous: Int32Array = new Int32Array(1024);
  /** 1 while the mark is known. */
  #known: Int32Array = new Int32Array(1024);
  /** Known marks in program order. */
  #order: Int32Array = new Int32Array(1024);
  #orderLength = 0;
  /** Per base: newest mark, valid in its epoch only. */
  #last = new Int32Array(4096);
  #epochOf = new Int32Array(4096);
  #epoch = 1;

  reset(): void {
    this.#length = 0;
    this.forgetAll();
  }

  /** A snapshot may have cleared all marks. */
  forgetAll(): void {
    this.#epoch++;
    this.#orderLength = 0;
  }

  /** The walk may have come past everything since `position`. */
  forgetSince(position: number): void {
    while (this.#orderLength > 0) {
      const mark = this.#order[this.#orderLength - 1];
      if (this.#position[mark] < position) return;
      this.#known[mark] = 0;
      this.#orderLength--;
    }
  }

  /** For which kinds of access the line of a byte is sure to be marked already, as bits. */
  kindsAt(base: number, offset: number): number {
    return this.#isMarked(base, offset, 1) | this.#isMarked(base, offset, 2);
  }

  #isMarked(base: number, offset: number, kind: number): number {
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (
      let mark = this.#newest(base), left = MOST_COMPARED;
      mark >= 0 && left > 0;
      mark = this.#previous[mark], left--
    ) {
      if (this.#known[mark] === 0 || (this.#kinds[mark] & kind) === 0) continue;
      const at = this.#offset[mark];
      if (base === CONSTANT) {
        if (at >>> LINE_SHIFT === offset >>> LINE_SHIFT) return kind;
        continue;
      }
      if (at <= offset && at > below) below = at;
      if (at >= offset && at < above) above = at;
    }
    return base !== CONSTANT && above - below <= LINE_BYTES ? kind : 0;
  }

  add(base: number, offset: number, kinds: number, position: number): void {
    const mark = this.#length++;
    if (mark === this.#offset.length) this.#grow();
    this.#previous[mark] = this.#newest(base);
    this.#offset[mark] = offset;
    this.#kinds[mark] = kinds;
    this.#position[mark] = position;
    this.#known[mark] = 1;
    this.#order[this.#orderLength++] = mark;
    this.#last[base] = mark;
    this.#epochOf[base] = this.#epoch;
  }

  #newest(base: number): number {
    if (base >= this.#last.length) {
      const size = Math.max(this.#last.length * 2, base + 1);
      this.#last = grown(this.#last, size);
      this.#epochOf = grown(this.#epochOf, size);
    }
    return this.#epochOf[base] === this.#epoch ? this.#last[base] : -1;
  }

  #grow(): void {
    const size = this.#offset.length * 2;
    this.#offset = grown(this.#offset, size);
    this.#kinds = grown(this.#kinds, size);
    this.#position = grown(this.#position, size);
    this.#previous = grown(this.#previous, size);
    this.#known = grown(this.#known, size);
    this.#order = grown(this.#order, size);
  }
}
