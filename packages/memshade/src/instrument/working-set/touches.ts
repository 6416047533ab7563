import { grown } from "../operand-stack.ts";
import { CONSTANT } from "../value-numbers.ts";

/** Two places at most this far apart: whatever lies between them lies in the line of one of them. */
export const LINE_BYTES = 64;
/** Earlier touches of one base that are compared with a new one; a bound for very long straight code. */
const MOST_COMPARED = 32;

/**
 * The touches of one function: places (base value + offset) whose lines are marked. What is known of earlier touches
 * saves later ones: a place between two touched ones at most 64 bytes apart needs no touch of its own. A touch is known
 * wherever the walk can only come through it, as long as no snapshot can have cleared the mark; inside a basic block a
 * later pair can also make an earlier touch superfluous.
 */
export class Touches {
  /** Number of touches so far; the columns below are indexed by touch. */
  length = 0;
  base = new Int32Array(1024);
  /** Distance of the place from the base. */
  offset: Int32Array = new Int32Array(1024);
  writes: Int32Array = new Int32Array(1024);
  /** Insertion that makes the touch. */
  insertion: Int32Array = new Int32Array(1024);
  /** The local that holds the address, symbolic or not. */
  local: Int32Array = new Int32Array(1024);
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

  /** Per base and kind of access: newest touch. */
  #last = [new Int32Array(4096), new Int32Array(4096)];
  #epochOf = [new Int32Array(4096), new Int32Array(4096)];
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

  /** A snapshot may have cleared all marks. */
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

  /** Whether the place is sure to be marked already. */
  covers(base: number, offset: number, writes: number): boolean {
    const newest = this.#newest(base, writes);
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (
      let touch = newest, left = MOST_COMPARED;
      touch >= 0 && left > 0;
      touch = this.#previous[touch], left--
    ) {
      if (this.#known[touch] === 0 || this.gone[touch] === 1) continue;
      const at = this.offset[touch];
      if (base === CONSTANT) {
        if (at >>> 6 === offset >>> 6) return true;
        continue;
      }
      if (at <= offset && at > below) below = at;
      if (at >= offset && at < above) above = at;
    }
    return base !== CONSTANT && above - below <= LINE_BYTES;
  }

  add(
    base: number,
    offset: number,
    writes: number,
    local: number,
    insertion: number,
    position: number,
  ): number {
    const touch = this.length++;
    if (touch === this.base.length) this.#grow();
    const previous = this.#newest(base, writes);
    this.base[touch] = base;
    this.offset[touch] = offset;
    this.writes[touch] = writes;
    this.local[touch] = local;
    this.insertion[touch] = insertion;
    this.gone[touch] = 0;
    this.#block[touch] = this.#currentBlock;
    this.#position[touch] = position;
    this.#previous[touch] = previous;
    this.#known[touch] = 1;
    this.#order[this.#orderLength++] = touch;
    this.#last[writes][base] = touch;
    this.#epochOf[writes][base] = this.#epoch;
    return touch;
  }

  /** A touch of this block that lies between two others which are at most one line apart; −1 if there is none. */
  superfluous(base: number, writes: number): number {
    if (base === CONSTANT) return -1;
    const newest = this.#newest(base, writes);
    for (
      let touch = newest, left = MOST_COMPARED;
      touch >= 0 && left > 0;
      touch = this.#previous[touch], left--
    ) {
      if (this.gone[touch] === 1 || this.#known[touch] === 0) continue;
      if (this.#block[touch] !== this.#currentBlock) return -1;
      if (this.#isBetween(touch, newest)) return touch;
    }
    return -1;
  }

  #isBetween(touch: number, newest: number): boolean {
    const offset = this.offset[touch];
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (
      let other = newest, left = MOST_COMPARED;
      other >= 0 && left > 0;
      other = this.#previous[other], left--
    ) {
      if (other === touch || this.#known[other] === 0 || this.gone[other] === 1) continue;
      const at = this.offset[other];
      if (at <= offset && at > below) below = at;
      if (at >= offset && at < above) above = at;
    }
    return above - below <= LINE_BYTES;
  }

  #newest(base: number, writes: number): number {
    if (base >= this.#last[writes].length) {
      const size = Math.max(this.#last[writes].length * 2, base + 1);
      this.#last[writes] = grown(this.#last[writes], size);
      this.#epochOf[writes] = grown(this.#epochOf[writes], size);
    }
    return this.#epochOf[writes][base] === this.#epoch ? this.#last[writes][base] : -1;
  }

  #grow(): void {
    const size = this.base.length * 2;
    this.base = grown(this.base, size);
    this.offset = grown(this.offset, size);
    this.writes = grown(this.writes, size);
    this.insertion = grown(this.insertion, size);
    this.local = grown(this.local, size);
    this.gone = grown(this.gone, size);
    this.#block = grown(this.#block, size);
    this.#position = grown(this.#position, size);
    this.#previous = grown(this.#previous, size);
    this.#known = grown(this.#known, size);
    this.#order = grown(this.#order, size);
  }
}
