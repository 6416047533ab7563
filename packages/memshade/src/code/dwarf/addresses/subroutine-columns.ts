export const NO_SUBROUTINE = -1;

// What is known of a subroutine, as numbers one behind the other.
export const OFFSET = 0;
/** The subroutine around it, or `NO_SUBROUTINE`. */
export const PARENT = 1;
export const INLINED = 2;
export const ORIGIN = 3;
export const CALL_FILE = 4;
export const CALL_LINE = 5;
export const CALL_COLUMN = 6;
export const CALL_DISCRIMINATOR = 7;
export const ROW = 8;

/** The subroutines of a unit, in the order of their entries. */
export interface SubroutineColumns {
  /** `ROW` numbers per subroutine. */
  readonly rows: Uint32Array;
  /** By subroutine, its first address; NaN where it is not in one piece. */
  readonly starts: Float64Array;
  /** Number of the innermost subroutine at an address, or `NO_SUBROUTINE`. */
  readonly intervals: { find(address: number): number };
}
