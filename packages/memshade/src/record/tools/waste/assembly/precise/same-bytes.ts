// Fast paths for the most frequent accesses: all bytes of the operand have one writer, one state and one reader. Each
// function returns false, and changes nothing, if that does not hold.

import {
  CONTROL,
  programLoad8,
  programLoad32,
  programLoad64,
  READERS,
  readersLoad128,
  readersStore128,
  SEEN,
  VALUES,
  WRITERS,
  writersLoad128,
  writersStore128,
} from "../imports";
import {
  BlockFlag,
  Control,
  Load,
  Pair,
  Store,
  VALUE_BYTES,
  VALUES_OF_LOAD,
  Value,
} from "../layout.generated";
import { markDirty, shownEnd, showsZeros } from "../memory";
import {
  blockAccessed,
  blockAccessedBy,
  fieldsOverwritten,
  fieldsRead,
  fieldsSilent,
  fieldsWritten,
  tick,
} from "./objects";
import {
  addPair,
  addPairOf,
  beginOperation,
  bump,
  INIT_KEY,
  INVALID,
  isReal,
  KEY,
  loadRecord,
  READ,
  readerAt,
  setReader,
  setWord,
  stateOf,
  storeRecord,
  UNREAD,
  wordAt,
} from "./state";

/** Returns the operand in memory. `size` is 1, 2, 4 or 8. */
@inline
export function programValue(address: u32, size: u32): u64 {
  if (size === 4) return <u64>programLoad32(address);
  if (size === 8) return programLoad64(address);
  const low = programLoad8(address);
  return size === 1 ? <u64>low : <u64>(low | (programLoad8(address + 1) << 8));
}

@inline
function valueAt(at: usize, size: u32): u64 {
  return size === 4
    ? <u64>load<u32>(at)
    : size === 8
      ? load<u64>(at)
      : size === 1
        ? <u64>load<u8>(at)
        : <u64>load<u16>(at);
}

@inline
function putValue(at: usize, size: u32, value: u64): void {
  if (size === 4) store<u32>(at, <u32>value);
  else if (size === 8) store<u64>(at, value);
  else if (size === 1) store<u8>(at, <u8>value);
  else store<u16>(at, <u16>value);
}

@inline
function areWrittenBy(address: u32, size: u32, word: u32): bool {
  if (size <= 2) return size === 1 || wordAt(address + 1) === word;
  const at: u32 = WRITERS + (address << 2);
  const words = i32x4.splat(word);
  let difference = v128.xor(writersLoad128(at), words);
  if (size === 8) difference = v128.or(difference, v128.xor(writersLoad128(at + 16), words));
  return !v128.any_true(difference);
}

@inline
function areReadBy(address: u32, size: u32, reader: u32): bool {
  if (size <= 2) return size === 1 || readerAt(address + 1) === reader;
  const at: u32 = READERS + (address << 2);
  const words = i32x4.splat(reader);
  let difference = v128.xor(readersLoad128(at), words);
  if (size === 8) difference = v128.or(difference, v128.xor(readersLoad128(at + 16), words));
  return !v128.any_true(difference);
}

@inline
function setWords(address: u32, size: u32, word: u32): void {
  if (size <= 2) {
    setWord(address, word);
    if (size === 2) setWord(address + 1, word);
    return;
  }
  const at: u32 = WRITERS + (address << 2);
  writersStore128(at, i32x4.splat(word));
  if (size === 8) writersStore128(at + 16, i32x4.splat(word));
}

@inline
function setReaders(address: u32, size: u32, reader: u32): void {
  if (size <= 2) {
    setReader(address, reader);
    if (size === 2) setReader(address + 1, reader);
    return;
  }
  const at: u32 = READERS + (address << 2);
  readersStore128(at, i32x4.splat(reader));
  if (size === 8) readersStore128(at + 16, i32x4.splat(reader));
}

@inline
function hasUsualSize(size: u32): bool {
  return size <= 8 && size !== 0 && (size & (size - 1)) === 0;
}

@inline
function equalBytes(a: u64, b: u64, size: u32): u32 {
  const equal = i8x16.bitmask(i8x16.eq(i64x2.splat(a), i64x2.splat(b)));
  return <u32>popcnt<i32>(equal & ((1 << size) - 1));
}

/** Records a load of bytes with one writer, one state and one reader. `float` is as in `loadBytes`. */
export function loadedAlike(address: u32, size: u32, key: u32, float: u32): bool {
  if (!hasUsualSize(size)) return false;
  const reader = readerAt(address);
  const word = wordAt(address);
  if (!areWrittenBy(address, size, word) || !areReadBy(address, size, reader)) return false;
  const value = programValue(address, size);
  const again = reader !== 0 && valueAt(SEEN + address, size) === value;
  // The value changed, but may be nearly the same.
  if (float !== 0 && reader !== 0 && !again) return false;
  let state = stateOf(word);
  if (word === 0 && state === UNREAD && showsZeros() && address < shownEnd()) {
    if (address + size > shownEnd()) return false;
    setWords(address, size, READ);
    state = READ;
  }
  tick();
  blockAccessed(address, size, BlockFlag.read);
  beginOperation();
  blockAccessedBy(address, size, key, Pair.readsFrom);
  const record = loadRecord(key);
  bump(record + Load.loads, 1);
  bump(record + Load.bytes, size);
  if (state === READ) bump(record + Load.silent, 1);
  else if (state === UNREAD) {
    const writer = word & KEY;
    if (isReal(writer)) bump(storeRecord(writer) + Store.read, size);
    setWords(address, size, READ | writer);
  }
  fieldsRead(address, size);
  bump(record + Load.zeroBytes, equalBytes(value, 0, size));
  if (again) {
    bump(record + Load.redundant, 1);
    bump(record + Load.redundantBytes, size);
    noteValue(key, value, 0);
    addPairOf(record + Load.pair, reader, Pair.redundant, reader, key, size);
  } else putValue(SEEN + address, size, value);
  if (reader !== key) setReaders(address, size, key);
  return true;
}

/**
 * Records a store over bytes with one writer and one state. Called after the store; `storing` was called before it.
 * `float` is as in `stored`.
 */
export function storedOver(address: u32, size: u32, key: u32, float: u32): bool {
  if (!hasUsualSize(size)) return false;
  const word = wordAt(address);
  if (!areWrittenBy(address, size, word)) return false;
  tick();
  blockAccessed(address, size, BlockFlag.written);
  beginOperation();
  blockAccessedBy(address, size, key, Pair.writesInto);
  const writer = word & KEY;
  const record = storeRecord(key);
  bump(record + Store.stores, 1);
  bump(record + Store.written, size);
  const state = stateOf(word);
  if (state !== INVALID) {
    const same = equalBytes(valueAt(CONTROL + Control.scratch, size), programValue(address, size), size);
    bump(record + Store.same, same);
    if (same === size) {
      bump(record + Store.silent, 1);
      bump(record + Store.silentBytes, size);
      if (writer === 0) bump(record + Store.overZero, 1);
      addPair(Pair.silent, writer, key, size);
      fieldsSilent(address, size);
    } else if (float !== 0 && keptIsNear(address, size, float)) bump(record + Store.approximate, 1);
  }
  if (state === UNREAD && isReal(writer)) {
    bump(storeRecord(writer) + Store.overwritten, size);
    fieldsOverwritten(address, size, writer);
    addPairOf(record + Store.pair, writer, Pair.overwritten, writer, key, size);
  } else if (writer === INIT_KEY) bump(record + Store.overSegment, size);
  fieldsWritten(address, size);
  markDirty(address, size);
  setWords(address, size, UNREAD | key);
  return true;
}

// Values that redundant loads find: the most frequent ones of each load. A new value takes over the counter of the
// rarest one, and that one's count becomes its error (space saving, Metwally et al.). No value is reported more often
// than it occurred.
//  VALUES   per load record VALUES_OF_LOAD times {value, its upper half, count, error}, u64 each

/**
 * Counts the value of `size` bytes at `address` that load `key` found again. Operands of bulk instructions are not
 * counted.
 */
export function noteValueAt(key: u32, address: u32, size: u32): void {
  if (size > 16) return;
  let value: u64 = 0;
  if (size >= 8) value = programLoad64(address);
  else for (let i: u32 = size; i !== 0; i--) value = (value << 8) | programLoad8(address + i - 1);
  noteValue(key, value, size === 16 ? programLoad64(address + 8) : 0);
}

@inline
function noteValue(key: u32, value: u64, upper: u64): void {
  const table: usize = VALUES + key * VALUES_OF_LOAD * VALUE_BYTES;
  const count = load<u64>(table, Value.count);
  if (load<u64>(table) === value && load<u64>(table, Value.upper) === upper && count !== 0)
    store<u64>(table, count + 1, Value.count);
  else countValue(table, value, upper);
}

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

/** Moves the more frequent of two neighbours to the front, where it is found sooner. */
function swap(at: usize): void {
  for (let i: usize = 0; i < VALUE_BYTES; i += 16) {
    const value = v128.load(at + i);
    v128.store(at + i, v128.load(at + i - VALUE_BYTES));
    v128.store(at + i - VALUE_BYTES, value);
  }
}

// True if two floats are nearly equal as docs/tools/waste.md defines it: within a hundredth of the older value.

function isNear(before: f64, after: f64): bool {
  if (isNaN(before) || isNaN(after)) return false;
  if (abs(before) === Infinity || abs(after) === Infinity) return false;
  if (before === 0 || after === 0) return before === after;
  return abs(after - before) <= 0.01 * abs(before);
}

function floatOf(bits: u64, size: u32): f64 {
  return size === 4 ? <f64>reinterpret<f32>(<u32>bits) : reinterpret<f64>(bits);
}

function programBits(address: u32, size: u32): u64 {
  let bits: u64 = 0;
  for (let i: u32 = size; i !== 0; i--) bits = (bits << 8) | programLoad8(address + i - 1);
  return bits;
}

function bitsAt(at: usize, size: u32): u64 {
  return size === 4 ? <u64>load<u32>(at) : load<u64>(at);
}

/** True if each float of `float` bytes in the operand is exactly or nearly the one at `before`. */
function areNear(before: usize, address: u32, size: u32, float: u32): bool {
  for (let i: u32 = 0; i < size; i += float) {
    const oldBits = bitsAt(before + i, float);
    const newBits = programBits(address + i, float);
    if (oldBits !== newBits && !isNear(floatOf(oldBits, float), floatOf(newBits, float))) return false;
  }
  return true;
}

/**
 * Counts the floats of a stored operand that are exactly or nearly those that `storing` kept. Floats in memory that was
 * invalid do not count.
 */
export function lanesNear(address: u32, size: u32, float: u32): u32 {
  let lanes: u32 = 0;
  for (let i: u32 = 0; i < size; i += float) {
    let isValid = true;
    for (let j: u32 = 0; j < float; j++) if (stateOf(wordAt(address + i + j)) === INVALID) isValid = false;
    if (isValid && areNear(CONTROL + Control.scratch + i, address + i, float, float)) lanes++;
  }
  return lanes;
}

export function seenIsNear(address: u32, size: u32, float: u32): bool {
  return areNear(SEEN + address, address, size, float);
}

export function keptIsNear(address: u32, size: u32, float: u32): bool {
  return areNear(CONTROL + Control.scratch, address, size, float);
}
