// Accesses all bytes of which had one fate: what most accesses meet, told at once instead of byte by byte. Only where nobody
// follows objects or copies. Each function says whether it was so; nothing is done if it was not.
import { keptIsNear } from "./approximate";
import { followsCopies } from "./copies";
import { markDirty } from "./dirty";
import {
  C_SCRATCH, CONTROL, L_BYTES, L_LOADS, L_REDUNDANT, L_REDUNDANT_BYTES, L_SILENT, L_ZERO_BYTES, S_APPROXIMATE,
  S_OVER_SEGMENT, S_OVER_ZERO, S_OVERWRITTEN, S_SAME, S_SILENT, S_SILENT_BYTES, S_STORES, S_WRITTEN,
} from "./layout";
import { followsObjects } from "./objects";
import { addPair, beginOperation, PAIR_OVERWRITTEN, PAIR_REDUNDANT, PAIR_SILENT } from "./pairs";
import { programLoad32, programLoad64, programLoad8 } from "./program";
import {
  bump, INIT_KEY, INVALID, isReal, KEY, loadRecord, READ, readerAt, READERS, SEEN, setReader, setWord, STATE,
  stateOf, storeRecord, UNREAD, wordAt, WRITERS,
} from "./state";
import { readersLoad128, readersStore128, writersLoad128, writersStore128 } from "./tables";
import { noteValue } from "./values";

/** The operand in memory now, `size` being 1, 4 or 8. */
@inline export function programValue(address: u32, size: u32): u64 {
  return size == 4 ? <u64>programLoad32(address) : size == 8 ? programLoad64(address) : <u64>programLoad8(address);
}

@inline function valueAt(at: usize, size: u32): u64 {
  return size == 4 ? <u64>load<u32>(at) : size == 8 ? load<u64>(at) : <u64>load<u8>(at);
}

/** Whether the words of `size` bytes are all `word`, `size` being 1, 4 or 8. */
@inline function areWrittenBy(address: u32, size: u32, word: u32): bool {
  if (size == 1) return true;
  const at: u32 = WRITERS + (address << 2);
  const all = i32x4.splat(word);
  let other = v128.xor(writersLoad128(at), all);
  if (size == 8) other = v128.or(other, v128.xor(writersLoad128(at + 16), all));
  return !v128.any_true(other);
}

/** As `areWrittenBy` for their readers. */
@inline function areReadBy(address: u32, size: u32, reader: u32): bool {
  if (size == 1) return true;
  const at: u32 = READERS + (address << 2);
  const all = i32x4.splat(reader);
  let other = v128.xor(readersLoad128(at), all);
  if (size == 8) other = v128.or(other, v128.xor(readersLoad128(at + 16), all));
  return !v128.any_true(other);
}

@inline function setWords(address: u32, size: u32, word: u32): void {
  if (size == 1) { setWord(address, word); return; }
  const at: u32 = WRITERS + (address << 2);
  writersStore128(at, i32x4.splat(word));
  if (size == 8) writersStore128(at + 16, i32x4.splat(word));
}

@inline function setReaders(address: u32, size: u32, reader: u32): void {
  if (size == 1) { setReader(address, reader); return; }
  const at: u32 = READERS + (address << 2);
  readersStore128(at, i32x4.splat(reader));
  if (size == 8) readersStore128(at + 16, i32x4.splat(reader));
}

@inline function hasUsualSize(size: u32): bool {
  return (size == 4 || size == 8 || size == 1) && !followsObjects() && !followsCopies();
}

/** How many of the bytes of two operands are equal. */
@inline function equalBytes(a: u64, b: u64, size: u32): u32 {
  const equal = i8x16.bitmask(i8x16.eq(i64x2.splat(a), i64x2.splat(b)));
  return <u32>popcnt<i32>(equal & ((1 << size) - 1));
}

/** A load that finds what one load saw before, in bytes that one store left and that were read since. */
export function loadedAgain(address: u32, size: u32, key: u32): bool {
  if (!hasUsualSize(size)) return false;
  const reader = readerAt(address);
  const word = wordAt(address);
  if (reader == 0 || (word & STATE) != READ) return false;
  const value = programValue(address, size);
  if (valueAt(SEEN + address, size) != value) return false;
  if (!areWrittenBy(address, size, word) || !areReadBy(address, size, reader)) return false;
  beginOperation();
  const record = loadRecord(key);
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  bump(record + L_SILENT, 1);
  bump(record + L_ZERO_BYTES, equalBytes(value, 0, size));
  bump(record + L_REDUNDANT, 1);
  bump(record + L_REDUNDANT_BYTES, size);
  noteValue(key, value, 0);
  addPair(PAIR_REDUNDANT, reader, key, size);
  if (reader != key) setReaders(address, size, key);
  return true;
}

/** A store over bytes of one store and one state, behind it; `storing` came before. `float` as in `stored`. */
export function storedOver(address: u32, size: u32, key: u32, float: u32): bool {
  if (!hasUsualSize(size)) return false;
  const word = wordAt(address);
  if (!areWrittenBy(address, size, word)) return false;
  beginOperation();
  const writer = word & KEY;
  const record = storeRecord(key);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  const state = stateOf(word);
  if (state != INVALID) {
    const same = equalBytes(valueAt(CONTROL + C_SCRATCH, size), programValue(address, size), size);
    bump(record + S_SAME, same);
    if (same == size) {
      bump(record + S_SILENT, 1);
      bump(record + S_SILENT_BYTES, size);
      if (writer == 0) bump(record + S_OVER_ZERO, 1);
      addPair(PAIR_SILENT, writer, key, size);
    } else if (float != 0 && keptIsNear(address, size, float)) bump(record + S_APPROXIMATE, 1);
  }
  if (state == UNREAD && isReal(writer)) {
    bump(storeRecord(writer) + S_OVERWRITTEN, size);
    addPair(PAIR_OVERWRITTEN, writer, key, size);
  } else if (writer == INIT_KEY) bump(record + S_OVER_SEGMENT, size);
  markDirty(address, size);
  setWords(address, size, UNREAD | key);
  return true;
}
