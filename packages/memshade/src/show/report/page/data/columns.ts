/** Column types by their letter in the file. */
export const COLUMN_TYPES = {
  f: Float64Array,
  i: Int32Array,
  b: Uint8Array,
} as const;

export type ColumnType = keyof typeof COLUMN_TYPES;
export type TypedColumn = Float64Array | Int32Array | Uint8Array;

/**
 * Layout of a column's bytes. "raw": little-endian values. "int": whole numbers as zigzag LEB128, each minus
 * the one `lag` rows before. "sparse": pairs of the number of zeros before a value (LEB128) and the value
 * (zigzag LEB128).
 */
export type ColumnCode = "raw" | "int" | "sparse";

/** Reference that replaces a typed array among plain values. */
export interface ColumnReference {
  /**
   * Type, code, number of rows, first byte after the header; then the lag (0 or 1) of "int", or the number of
   * pairs of "sparse".
   */
  readonly "@": readonly [ColumnType, ColumnCode, number, number, number];
}
