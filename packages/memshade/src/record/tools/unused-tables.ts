/** A part of a memory: bytes `from` up to `to`, which is not part of it. */
export type MemoryRange = readonly [from: number, to: number];

/** Ranges begin and end at multiples of so many bytes. */
const UNIT = 8;

/**
 * What is left of a memory of `end` bytes without some parts of it, in order. What is not named as unused is in it: so a table that
 * somebody has forgotten is read for nothing, and none is missing.
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
