import { FINE_BITS, SINGLE_BITS } from "./layout.generated";

/** Values below have a bin each. */
const SINGLE: u64 = 1 << SINGLE_BITS;

/**
 * Adds a value to a histogram. The sums make means of bins exact, and all that is linear in the values; bins
 * of one value need none. No branch: how large a value is, nobody can guess.
 */
@inline
export function add(histogram: usize, value: u64): void {
  const high = 63 - clz(value | 1);
  const shared =
    SINGLE + ((high - SINGLE_BITS) << FINE_BITS) + ((value >> (high - FINE_BITS)) & ((1 << FINE_BITS) - 1));
  const bin = select<u64>(value, shared, value < SINGLE);
  const at: usize = histogram + ((<u32>bin) << 4);
  store<f64>(at, load<f64>(at) + 1);
  store<f64>(at, load<f64>(at, 8) + <f64>value, 8);
}

/** The same for values that are hardly ever large. */
@inline
export function addSmall(histogram: usize, value: u64): void {
  if (value < SINGLE) addOften(histogram, value, 1);
  else addAny(histogram, value);
}

function addAny(histogram: usize, value: u64): void {
  add(histogram, value);
}

/** Adds a value with a bin of its own so many times. */
@inline
export function addOften(histogram: usize, value: u64, times: f64): void {
  const at: usize = histogram + ((<u32>value) << 4);
  store<f64>(at, load<f64>(at) + times);
}
