/** Part of a memory: bytes from `from` up to but excluding `to`. */
export type MemoryRange = readonly [from: number, to: number];

/** Ranges begin and end at multiples of this many bytes. */
const UNIT = 8;

/**
 * Returns a memory of `end` bytes without its unused parts, in order. A table that is not listed as unused is
 * included, so an omission costs time but loses no data.
 */
export function withoutUnused(end: number, unused: readonly MemoryRange[]): MemoryRange[] {
  const used: MemoryRange[] = [];
  let at = 0;
  for (const [from, to] of [...unused].sort((a, b) => a[0] - b[0])) {
    const [first, last] = [Math.ceil(from / UNIT) * UNIT, Math.floor(Math.min(to, end) / UNIT) * UNIT];
    if (last <= first) continue;
    if (first > at) used.push([at, first]);
    at = Math.max(at, last);
  }
  if (at < end) used.push([at, end]);
  return used;
}
