import { grown } from "../../../../rewrite/walk/operand-stack.ts";

/** Two places at most this far apart: whatever lies between them lies in the line of one of them. */
const LINE_BYTES = 64;
/** Earlier touches of one base that are compared with a new one; a bound for very long straight code. */
const MOST_COMPARED = 32;

/**
 * The touches of one function: places (base value + offset) whose lines are looked at, one, or two at most 64 bytes apart. A
 * place between two touched ones at most 64 bytes apart needs no touch of its own. A touch is known wherever the walk can only
 * come through it; inside a basic block a later one can take an earlier one in.
 */
export class Touches {
  /** Number of touches so far; the columns below are indexed by touch. */
  length = 0;
  base = new Int32Array(1024);
  /** Distance of the (lower) place from the base, and of the upper one from that: 0 where there is only one. */
  offset: Int32Array = new Int32Array(1024);
  extra: Int32Array = new Int32Array(1024);
  /** Sites that access the lower place, and the upper one. */
  site: Int32Array = new Int32Array(1024);
  upperSite: Int32Array = new Int32Array(1024);
  /** 1 in a loop that does not poll: more may come together there than can wait. */
  often: Int32Array = new Int32Array(1024);
  /** The local that holds the address of the last access, symbolic or not, and the distance of that address from the base. */
  local: Int32Array = new Int32Array(1024);
  held: Int32Array = new Int32Array(1024);
  /** 1 for a touch that turned out not to be needed. */
  gone: Int32Array = new Int32Array(1024);
  #block: Int32Array = new Int32Array(1024);
  #position: Int32Array = new Int32Array(1024);
  #previous: Int32Array = new Int32Array(1024);
  /** 1 while the touch is known at the place of the walk. */
  #known: Int32Array = new Int32Array(1024);
  /** Known touches in program order. */
  #order: Int32Array = new Int32Array(1024);
  #orderLength = 0;

  /** Per base: newest touch. */
  #last: Int32Array = new Int32Array(4096);
  #epochOf: Int32Array = new Int32Array(4096);
  #epoch = 1;
  #currentBlock = 0;

  reset(): void {
    this.length = 0;
    this.forgetAll();
  }

  /** A basic block ends: earlier touches are not replaced any more. */
  endBlock(): void {
    this.#currentBlock++;
  }

  /** What was touched may have been long ago. */
  forgetAll(): void {
    this.#epoch++;
    this.#orderLength = 0;
    this.#currentBlock++;
  }

  /** The walk may have come past everything since `position`. */
  forgetSince(position: number): void {
    this.#currentBlock++;
    while (this.#orderLength > 0) {
      const touch = this.#order[this.#orderLength - 1];
      if (this.#position[touch] < position) return;
      this.#known[touch] = 0;
      this.#orderLength--;
    }
  }

  /** Whether the place is sure to have been looked at. */
  covers(base: number, offset: number): boolean {
    const newest = this.#newest(base);
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (
      let touch = newest, left = MOST_COMPARED;
      touch >= 0 && left > 0;
      touch = this.#previous[touch], left--
    ) {
      if (this.#known[touch] === 0 || this.gone[touch] === 1) continue;
      const lower = this.offset[touch];
      const upper = lower + this.extra[touch];
      if (lower <= offset && lower > below) below = lower;
      if (lower >= offset && lower < above) above = lower;
      if (upper <= offset && upper > below) below = upper;
      if (upper >= offset && upper < above) above = upper;
    }
    return above - below <= LINE_BYTES;
  }

  /** A touch of this block that can take the place in; −1 if there is none. */
  near(base: number, offset: number): number {
    for (
      let touch = this.#newest(base), left = MOST_COMPARED;
      touch >= 0 && left > 0;
      touch = this.#previous[touch], left--
    ) {
      if (this.gone[touch] === 1) continue;
      if (this.#known[touch] === 0 || this.#block[touch] !== this.#currentBlock) return -1;
      const lower = Math.min(offset, this.offset[touch]);
      const upper = Math.max(offset, this.offset[touch] + this.extra[touch]);
      if (upper - lower <= LINE_BYTES) return touch;
    }
    return -1;
  }

  /** A touch of one place. Returns its number. */
  add(base: number, offset: number, site: number, position: number): number {
    const touch = this.length++;
    if (touch === this.base.length) this.#grow();
    const previous = this.#newest(base);
    this.base[touch] = base;
    this.offset[touch] = offset;
    this.extra[touch] = 0;
    this.site[touch] = site;
    this.upperSite[touch] = site;
    this.gone[touch] = 0;
    this.often[touch] = 0;
    this.#block[touch] = this.#currentBlock;
    this.#position[touch] = position;
    this.#previous[touch] = previous;
    this.#known[touch] = 1;
    this.#order[this.#orderLength++] = touch;
    this.#last[base] = touch;
    this.#epochOf[base] = this.#epoch;
    return touch;
  }

  /** A touch takes the place of an earlier one, which `near` has found, along. */
  takeIn(touch: number, earlier: number): void {
    this.gone[earlier] = 1;
    const offset = this.offset[touch];
    const lower = this.offset[earlier];
    const upper = lower + this.extra[earlier];
    if (lower < offset) this.site[touch] = this.site[earlier];
    if (upper > offset) this.upperSite[touch] = this.upperSite[earlier];
    this.offset[touch] = Math.min(offset, lower);
    this.extra[touch] = Math.max(offset, upper) - this.offset[touch];
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
    const size = this.base.length * 2;
    this.base = grown(this.base, size);
    this.offset = grown(this.offset, size);
    this.extra = grown(this.extra, size);
    this.site = grown(this.site, size);
    this.upperSite = grown(this.upperSite, size);
    this.often = grown(this.often, size);
    this.local = grown(this.local, size);
    this.held = grown(this.held, size);
    this.gone = grown(this.gone, size);
    this.#block = grown(this.#block, size);
    this.#position = grown(this.#position, size);
    this.#previous = grown(this.#previous, size);
    this.#known = grown(this.#known, size);
    this.#order = grown(this.#order, size);
  }
}
