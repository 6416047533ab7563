/**
 * Histogram entries of raw version 5: a u16 with a 4-bit exponent E and a 12-bit mantissa M, meaning
 * `M << E`. Counts up to 4095 are exact; above, each halving rounds up.
 */

/** The largest count that an entry can hold: 134 184 960. */
export const LARGEST_HISTOGRAM_COUNT = 0xfffn << 15n;

const LARGEST_MANTISSA = 0xfff;

/** The u16 for a count; larger counts than {@link LARGEST_HISTOGRAM_COUNT} become that. */
export function encodeHistogramCount(count: bigint): number {
  let mantissa = Number(count > LARGEST_HISTOGRAM_COUNT ? LARGEST_HISTOGRAM_COUNT : count);
  let exponent = 0;
  while (mantissa > LARGEST_MANTISSA) {
    mantissa = (mantissa + 1) >> 1;
    exponent += 1;
  }
  return (exponent << 12) | mantissa;
}

/** The count that a u16 stands for. */
export function decodeHistogramCount(encoded: number): bigint {
  return BigInt((encoded & LARGEST_MANTISSA) * 2 ** (encoded >> 12));
}
