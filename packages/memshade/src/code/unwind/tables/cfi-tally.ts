import { grown } from "../../../ground/bytes/grown.ts";
import type { FdeRows, FdeSink } from "../cfi/fde-sink.ts";
import { LAST_OFFSET } from "../cfi/rows.ts";
import { MAX_EXTENT_BYTES } from "./extent-table.ts";

/** Counts what FDEs consist of while they are read. */
export class CfiTally implements FdeSink {
  rows = 0;
  /** Extents of 16-bit lengths that the rows take: one each, more for long ones. */
  extents = 0;
  /** Rows per rule set. */
  uses = new Uint32Array(4096);
  #fdes = 0;
  #starts: Int32Array;
  #ends: Int32Array;

  /** @param sectionBytes size of all sections, for which room is made */
  constructor(sectionBytes: number) {
    this.#starts = new Int32Array(16 + Math.ceil(sectionBytes / 40));
    this.#ends = new Int32Array(this.#starts.length);
  }

  addFde(start: number, size: number, program: FdeRows): void {
    const { first, deltas, sets, count } = program;
    const last = first + count;
    let row = first;
    for (; row < last && deltas[row] < size; row++) {
      const set = sets[row];
      if (set >= this.uses.length) this.#growUses(set);
      this.uses[set]++;
    }
    this.rows += row - first;
    this.extents += row - first;
    // Most functions are too short to have a row that is too long.
    if (size > MAX_EXTENT_BYTES) this.extents += piecesBehindFirst(deltas.subarray(first, row), size);
    this.#addRange(start, Math.min(start + size, LAST_OFFSET));
  }

  /** Stretches between functions that no FDE covers. */
  gaps(): number {
    const starts = this.#starts.subarray(0, this.#fdes).sort();
    const ends = this.#ends.subarray(0, this.#fdes).sort();
    let gaps = 0;
    // Where as many functions have ended as began before, none covers the code up to the next start.
    for (let i = 1; i < this.#fdes; i++) if (ends[i - 1] < starts[i]) gaps++;
    return gaps;
  }

  #addRange(start: number, end: number): void {
    if (this.#fdes === this.#starts.length) {
      this.#starts = grown(this.#starts, this.#starts.length * 2);
      this.#ends = grown(this.#ends, this.#ends.length * 2);
    }
    this.#starts[this.#fdes] = start;
    this.#ends[this.#fdes++] = end;
  }

  #growUses(set: number): void {
    const larger = new Uint32Array(2 * set);
    larger.set(this.uses);
    this.uses = larger;
  }
}

/** How many extents more than one per row the rows of a function take. */
function piecesBehindFirst(deltas: Int32Array, size: number): number {
  let pieces = 0;
  for (let row = 0; row < deltas.length; row++) {
    const end = row + 1 < deltas.length ? deltas[row + 1] : size;
    pieces += Math.ceil((end - deltas[row]) / MAX_EXTENT_BYTES) - 1;
  }
  return pieces;
}
