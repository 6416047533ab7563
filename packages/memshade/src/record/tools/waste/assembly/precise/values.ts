// The values that redundant loads find: the commonest few of each load, in counters that the rarest value gives up to a new
// one, with its count as the error of the new one's (Metwally's space saving). No value is told more often than it came.
//
//   VALUES   per load record VALUES_OF_LOAD times {value, its upper half, count, error}, u64 each
import { VALUES, programLoad64, programLoad8 } from "../imports";
import { VALUES_OF_LOAD, VALUE_BYTES, Value } from "../layout.generated";

/** Load `key` found the `size` bytes at `address` again. Operands of bulk instructions are no values. */
export function noteValueAt(key: u32, address: u32, size: u32): void {
  if (size > 16) return;
  let value: u64 = 0;
  if (size >= 8) value = programLoad64(address);
  else for (let i: u32 = size; i !== 0; i--) value = (value << 8) | programLoad8(address + i - 1);
  noteValue(key, value, size === 16 ? programLoad64(address + 8) : 0);
}

@inline
export function noteValue(key: u32, value: u64, upper: u64): void {
  const table: usize = VALUES + key * VALUES_OF_LOAD * VALUE_BYTES;
  const count = load<u64>(table, Value.count);
  if (load<u64>(table) === value && load<u64>(table, Value.upper) === upper && count !== 0)
    store<u64>(table, count + 1, Value.count);
  else countValue(table, value, upper);
}

/** Counts a value that is not the one in the first counter. */
function countValue(table: usize, value: u64, upper: u64): void {
  let rarest = table;
  for (let i: u32 = 0; i < VALUES_OF_LOAD; i++) {
    const at = table + i * VALUE_BYTES;
    const count = load<u64>(at, Value.count);
    if (count === 0 || (load<u64>(at) === value && load<u64>(at, Value.upper) === upper)) {
      store<u64>(at, value);
      store<u64>(at, upper, Value.upper);
      store<u64>(at, count + 1, Value.count);
      if (i !== 0 && count + 1 > load<u64>(at - VALUE_BYTES, Value.count)) swap(at);
      return;
    }
    if (count < load<u64>(rarest, Value.count)) rarest = at;
  }
  const least = load<u64>(rarest, Value.count);
  store<u64>(rarest, value);
  store<u64>(rarest, upper, Value.upper);
  store<u64>(rarest, least + 1, Value.count);
  store<u64>(rarest, least, Value.error);
}

/** The commoner of two neighbours comes first, where it is found sooner. */
function swap(at: usize): void {
  for (let i: usize = 0; i < VALUE_BYTES; i += 16) {
    const value = v128.load(at + i);
    v128.store(at + i, v128.load(at + i - VALUE_BYTES));
    v128.store(at + i - VALUE_BYTES, value);
  }
}
