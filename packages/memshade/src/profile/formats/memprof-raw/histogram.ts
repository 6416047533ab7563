/**
 * Histogram entries of raw version 5 are a u16 with a 4-bit exponent E and a 12-bit mantissa M, meaning `M << E`.
 * Counts up to 4095 are exact; above that, each halving rounds up.
 */

/** Largest count that an entry can hold: 134,184,960. */
export const LARGEST_HISTOGRAM_COUNT = 0xfffn << 15n;

const LARGEST_MANTISSA = 0xfff;

/** Encodes a count as a u16; counts above {@link LARGEST_HISTOGRAM_COUNT} are capped to it. */
export function encodeHistogramCount(count: bigint): number {
  let mantissa = Number(count > LARGEST_HISTOGRAM_COUNT ? LARGEST_HISTOGRAM_COUNT : count);
  let exponent = 0;
  while (mantissa > LARGEST_MANTISSA) {
    mantissa = (mantissa + 1) >> 1;
    exponent += 1;
  }
  return (exponent << 12) | mantissa;
}

export function decodeHistogramCount(encoded: number): bigint {
  return BigInt((encoded & LARGEST_MANTISSA) * 2 ** (encoded >> 12));
}
