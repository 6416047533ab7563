/** A longer copy of a column: zeros follow what it holds. */
export function grown(column: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(size);
  copy.set(column);
  return copy;
}
