/** Values below have a bin each. */
const SINGLE: u64 = 4096;
const SINGLE_BITS: u64 = 12;
/** Bins per factor of two above: 2 to the power of this. */
const FINE_BITS: u64 = 5;

/**
 * Adds a value to a histogram. The sums make means of bins exact, and all that is linear in the values; bins
 * of one value need none. No branch: how large a value is, nobody can guess.
 */
@inline
export function add(histogram: usize, value: u64, weight: f64): void {
  const high = 63 - clz(value | 1);
  const shared =
    SINGLE + ((high - SINGLE_BITS) << FINE_BITS) + ((value >> (high - FINE_BITS)) & ((1 << FINE_BITS) - 1));
  const bin = select<u64>(value, shared, value < SINGLE);
  const at: usize = histogram + (<u32>bin << 4);
  store<f64>(at, load<f64>(at) + weight);
  store<f64>(at, load<f64>(at, 8) + weight * <f64>value, 8);
}

/** The same for values that are hardly ever large. */
@inline
export function addSmall(histogram: usize, value: u64, weight: f64): void {
  if (value < SINGLE) {
    const at: usize = histogram + (<u32>value << 4);
    store<f64>(at, load<f64>(at) + weight);
  } else addAny(histogram, value, weight);
}

function addAny(histogram: usize, value: u64, weight: f64): void {
  add(histogram, value, weight);
}
