import type { Cie } from "./cie.ts";
import type { CfiSection } from "./section.ts";

/**
 * Offsets of code from the base of an object are between 0 and 2^32. Minus this bias, they are signed 32-bit
 * integers, which keep their order. Engines handle these several times as fast as larger numbers.
 */
export const OFFSET_BIAS = 2 ** 31;

/** Highest biased offset; code that ends at 2^32 ends here. */
export const LAST_OFFSET = 2 ** 31 - 1;

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
 * Row i holds from `starts[i]` to the start of the next row of the same FDE, or to that FDE's end. Rows are never
 * empty, and those of an FDE ascend.
 */
export class CfiRows implements FdeSink {
  count = 0;
  starts: Uint32Array;
  sets: Uint32Array;

  fdeCount = 0;
  fdeStarts: Uint32Array;
  /** End of each FDE; 2^32 itself is stored as 2^32 − 1. */
  fdeEnds: Uint32Array;
  /** First row of each FDE; `fdeRows[fdeCount]` is the number of rows. */
  fdeRows: Uint32Array;

  constructor(sectionBytes: number) {
    // Large libraries have about 5.5 bytes per row and 50 per FDE. Unused capacity is never touched and costs
    // nothing.
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

/** Rows of an FDE: each begins `deltas[i]` bytes after the start of its code. Deltas ascend from 0. */
export interface FdeRows {
  readonly first: number;
  readonly count: number;
  readonly deltas: Int32Array;
  readonly sets: Int32Array;
}

export interface FastReader {
  readonly count: number;
  /**
   * Enters a section.
   *
   * @param base address (SVMA) that offsets count from
   * @param code range of offsets in which FDEs may start
   * @returns true if another section was entered before, whose CIEs are forgotten now
   */
  enter(section: CfiSection, base: number, code: { readonly start: number; readonly end: number }): boolean;
  /** Enables the fast path for FDEs of a CIE, if it can read them. */
  addCie(offset: number, cie: Cie): void;
  /**
   * Reads consecutive FDEs and passes them to the sink.
   *
   * @param end upper limit for the end of the last one
   * @returns position of the first entry that needs the full reader, or that does not end before `end`
   */
  read(from: number, end: number, sink: FdeSink): number;
}

export interface FdeSink {
  /** Fast path that writes common FDEs directly into the sink's own table; other FDEs come through `addFde`. */
  readonly fast?: FastReader;

  /**
   * @param start offset of the function from the base of the object, minus `OFFSET_BIAS`
   * @param size its bytes; they may reach beyond 2^32
   * @param rows its rows, valid during the call; rows at or after the end do not count
   */
  addFde(start: number, size: number, rows: FdeRows): void;
}
