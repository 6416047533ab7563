export function grown(column: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(size);
  copy.set(column);
  return copy;
}

/**
 * Returns the first index of [from, to) for which a condition does not hold; `to` if it holds for all. The
 * condition must hold for a leading run of the range (sorted values). It is evaluated log2(to - from) times.
 */
export function partitionPoint(from: number, to: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
