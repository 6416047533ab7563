/**
 * Blocks by powers of two: those with 0, with 1, with 2 and 3, with 4 to 7, … Empty where the smallest and the largest are of different
 * powers, as nobody counted how many blocks are of which.
 *
 * For example: 5 blocks of 24 to 31 bytes are [0, 0, 0, 0, 0, 5]
 *
 * @param least 32 bits, as MemProf has sizes and lifetimes
 */
export function powersOf(blocks: number, least: number, most: number): number[] {
  const power = bitsOf(least);
  return blocks === 0 || power !== bitsOf(most) ? [] : [...new Array<number>(power).fill(0), blocks];
}

function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}
