/** The types that a column may have, by their letter in the file. */
export const COLUMN_TYPES = {
  f: Float64Array,
  i: Int32Array,
  b: Uint8Array,
} as const;

export type ColumnType = keyof typeof COLUMN_TYPES;
export type TypedColumn = Float64Array | Int32Array | Uint8Array;

/**
 * How a column's bytes are laid out. "raw": little-endian values; "int": whole numbers as zigzag LEB128, each less the one
 * `lag` rows before; "sparse": pairs of how many zeros stand before a value, and the value, as LEB128 and zigzag LEB128.
 */
export type ColumnCode = "raw" | "int" | "sparse";

/** Where a typed array stood among plain values. */
export interface ColumnReference {
  /** Type, code, rows, first byte behind the header; then the lag (0 or 1) of "int", and the pairs of "sparse". */
  readonly "@": readonly [ColumnType, ColumnCode, number, number, number];
}
