/**
 * Possible origins of a value, a set of bits:
 *
 *     bit  0..5   parameter i, unchanged        bit 12..17  result of tracked callee k, unchanged
 *     bit  6..11  computed from parameter i     bit 18..23  computed from that result
 *     bit 24      a product of two values that depend on parameters
 *     bit 25      a constant                    bit 26      anything else (loads, globals, other calls)
 */
export type Origin = number;

export const TRACKED = 6;
const CALL_SHIFT = 12;
const EXACT = 0b000000_111111_000000_111111;
const DERIVED = EXACT << TRACKED;
export const ANY_PARAM = 0xfff;
/** Shift of the number of a known distance from a parameter (see `Distance` in body-summary.ts), 0 for none. */
export const DISTANCE_SHIFT = 27;
export const ORIGINS = (1 << DISTANCE_SHIFT) - 1;
export const MAXIMUM_DISTANCES = 31;
export const PRODUCT: Origin = 1 << 24;
export const CONSTANT: Origin = 1 << 25;
export const OTHER: Origin = 1 << 26;

/** Origin of the unchanged parameter `index`. Parameters from the seventh on count as `OTHER`. */
export const fromParam = (index: number): Origin => (index >= 0 && index < TRACKED ? 1 << index : OTHER);
/** Origin of the unchanged result of tracked callee number `slot`. */
export const fromCall = (slot: number): Origin => 1 << (CALL_SHIFT + slot);
/** Returns the origins of a value after arithmetic. */
export const computed = (origin: Origin): Origin =>
  ((origin & EXACT) << TRACKED) |
  (origin & (DERIVED | PRODUCT | OTHER)) |
  (origin === CONSTANT ? CONSTANT : 0);
/** True if a value depends on parameter `index`, changed or not. */
export const dependsOnParam = (origin: Origin, index: number): boolean =>
  (origin & (fromParam(index) | (fromParam(index) << TRACKED))) !== 0;
/** Returns the one parameter that a value may be, unchanged, or −1. The value may also be a constant. */
export function soleParam(origin: Origin): number {
  const rest = origin & ~CONSTANT;
  for (let i = 0; i < TRACKED; i++) if (rest === 1 << i) return i;
  return -1;
}

/** Joins two values by path. 0 is a path that was not visited yet. */
export function either(first: number, second: number): number {
  if (first === second || second === 0) return first;
  if (first === 0) return second;
  const origins = (first | second) & ORIGINS;
  return first >>> DISTANCE_SHIFT === second >>> DISTANCE_SHIFT ? origins | (first & ~ORIGINS) : origins;
}
