import type { FdeRows, FdeSink } from "./fde-sink.ts";

/**
 * Offsets of code from the base of an object lie between 0 and 2^32. Moved down by this they are signed 32-bit integers,
 * which keep their order and which engines handle several times as fast as numbers that may be larger.
 */
export const OFFSET_BIAS = 2 ** 31;

/** The highest such integer; what ends at 2^32 ends here. */
export const LAST_OFFSET = 2 ** 31 - 1;

/** The rows of one run of instructions. */
export class ProgramRows implements FdeRows {
  readonly first = 0;
  count = 0;
  deltas = new Int32Array(256);
  sets = new Int32Array(256);

  /** Drops all rows, and makes room for `count`. */
  reset(count: number): void {
    this.count = 0;
    if (count <= this.deltas.length) return;
    this.deltas = new Int32Array(2 * count);
    this.sets = new Int32Array(2 * count);
  }
}

/**
 * All rows of an object in columns, in the order of its sections. Addresses are offsets from the object's base.
 *
 * Row i holds from `starts[i]` to the start of the next row of the same FDE, or to that FDE's end. No row is empty, and
 * those of an FDE ascend.
 */
export class CfiRows implements FdeSink {
  /** Number of rows. */
  count = 0;
  starts: Uint32Array;
  /** Index of each row's rule set. */
  sets: Uint32Array;

  fdeCount = 0;
  fdeStarts: Uint32Array;
  /** First offset behind each FDE; 2^32 itself is stored as 2^32 − 1. */
  fdeEnds: Uint32Array;
  /** First row of each FDE; `fdeRows[fdeCount]` is the number of rows. */
  fdeRows: Uint32Array;

  constructor(sectionBytes: number) {
    // Large libraries take about 5.5 bytes per row and 50 per FDE. What is too much is never touched and costs nothing.
    this.starts = new Uint32Array(Math.ceil(sectionBytes / 5) + 64);
    this.sets = new Uint32Array(this.starts.length);
    this.fdeStarts = new Uint32Array(Math.ceil(sectionBytes / 40) + 16);
    this.fdeEnds = new Uint32Array(this.fdeStarts.length);
    this.fdeRows = new Uint32Array(this.fdeStarts.length + 1);
  }

  addFde(biasedStart: number, size: number, { first, count: rowCount, deltas, sets }: FdeRows): void {
    this.#reserve(rowCount);
    const start = biasedStart + OFFSET_BIAS;
    let count = this.count;
    const last = first + rowCount;
    for (let row = first; row < last && deltas[row] < size && start + deltas[row] < 2 ** 32; row++) {
      this.starts[count] = start + deltas[row];
      this.sets[count++] = sets[row];
    }
    this.count = count;
    const fde = this.fdeCount++;
    this.fdeStarts[fde] = start;
    this.fdeEnds[fde] = Math.min(start + size, 0xffff_ffff);
    this.fdeRows[fde + 1] = count;
  }

  /** Makes room for one more FDE with that many rows. */
  #reserve(rowCount: number): void {
    if (this.count + rowCount > this.starts.length) {
      const capacity = Math.max(this.count + rowCount, Math.ceil(this.starts.length * 1.5));
      this.starts = withCapacity(this.starts, capacity);
      this.sets = withCapacity(this.sets, capacity);
    }
    if (this.fdeCount === this.fdeStarts.length) {
      const capacity = Math.ceil(this.fdeCount * 1.5) + 16;
      this.fdeStarts = withCapacity(this.fdeStarts, capacity);
      this.fdeEnds = withCapacity(this.fdeEnds, capacity);
      this.fdeRows = withCapacity(this.fdeRows, capacity + 1);
    }
  }
}

function withCapacity(array: Uint32Array, capacity: number): Uint32Array {
  const larger = new Uint32Array(capacity);
  larger.set(array);
  return larger;
}
