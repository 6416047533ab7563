/** Mean absolute difference of two curves over the given cache sizes, in lines. */
export function meanAbsoluteError(
  one: { at(cacheLines: number): number },
  other: { at(cacheLines: number): number },
  sizes: readonly number[],
): number {
  return sizes.reduce((sum, size) => sum + Math.abs(one.at(size) - other.at(size)), 0) / sizes.length;
}

/** Cache sizes from 1 line to at least `lines`, `perDoubling` steps for each factor of two. */
export function cacheSizesUpTo(lines: number, perDoubling = 4): number[] {
  const sizes: number[] = [];
  const last = Math.ceil(Math.log2(Math.max(1, lines)) * perDoubling);
  for (let step = 0; step <= last; step++) {
    const size = Math.round(2 ** (step / perDoubling));
    if (size !== sizes.at(-1)) sizes.push(size);
  }
  return sizes;
}
