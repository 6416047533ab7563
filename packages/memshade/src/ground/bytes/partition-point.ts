/**
 * Where a condition ceases to hold: the first index of [from, to) that does not satisfy it, `to` if all do. The
 * condition must hold for a leading run of the range (values in order), and is asked log2(to - from) times.
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
