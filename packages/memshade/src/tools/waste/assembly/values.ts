// The values that redundant loads find: the commonest few of each load, in counters that the rarest value gives up to a new
// one, with its count as the error of the new one's (Metwally's space saving). No value is told more often than it came.
//
//   VALUES   per load record COUNTERS times {value, its upper half, count, error}, u64 each
import { programLoad64, programLoad8 } from "./program";

@external("layout", "VALUES")
declare const VALUES: u32;

const COUNTERS: u32 = 8;
const COUNTER_SIZE: u32 = 32;
const UPPER: usize = 8;
const COUNT: usize = 16;
const ERROR: usize = 24;

/** Load `key` found the `size` bytes at `address` again. Operands of bulk instructions are no values. */
export function noteValueAt(key: u32, address: u32, size: u32): void {
  if (size > 16) return;
  let value: u64 = 0;
  if (size >= 8) value = programLoad64(address);
  else for (let i: u32 = size; i != 0; i--) value = (value << 8) | programLoad8(address + i - 1);
  noteValue(key, value, size == 16 ? programLoad64(address + 8) : 0);
}

@inline export function noteValue(key: u32, value: u64, upper: u64): void {
  const table: usize = VALUES + key * COUNTERS * COUNTER_SIZE;
  const count = load<u64>(table, COUNT);
  if (load<u64>(table) == value && load<u64>(table, UPPER) == upper && count != 0) store<u64>(table, count + 1, COUNT);
  else countValue(table, value, upper);
}

/** Counts a value that is not the one in the first counter. */
function countValue(table: usize, value: u64, upper: u64): void {
  let rarest = table;
  for (let i: u32 = 0; i < COUNTERS; i++) {
    const at = table + i * COUNTER_SIZE;
    const count = load<u64>(at, COUNT);
    if (count == 0 || (load<u64>(at) == value && load<u64>(at, UPPER) == upper)) {
      store<u64>(at, value);
      store<u64>(at, upper, UPPER);
      store<u64>(at, count + 1, COUNT);
      if (i != 0 && count + 1 > load<u64>(at - COUNTER_SIZE, COUNT)) swap(at);
      return;
    }
    if (count < load<u64>(rarest, COUNT)) rarest = at;
  }
  const least = load<u64>(rarest, COUNT);
  store<u64>(rarest, value);
  store<u64>(rarest, upper, UPPER);
  store<u64>(rarest, least + 1, COUNT);
  store<u64>(rarest, least, ERROR);
}

/** The commoner of two neighbours comes first, where it is found sooner. */
function swap(at: usize): void {
  for (let i: usize = 0; i < COUNTER_SIZE; i += 16) {
    const value = v128.load(at + i);
    v128.store(at + i, v128.load(at + i - COUNTER_SIZE));
    v128.store(at + i - COUNTER_SIZE, value);
  }
}
