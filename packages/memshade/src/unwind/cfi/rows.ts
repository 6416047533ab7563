import type { FdeRows } from "./fde-sink.ts";

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
