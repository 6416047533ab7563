// Byte-exact waste with a writer, a reader and the value seen for every byte. Every access of the program calls in.
import {
  C_LOAD_SITE, C_OUTSIDE, C_PAGES, C_SCRATCH, C_STORE_SITE, CONTROL, COVERED, L_APPROXIMATE, L_BYTES, L_LOADS,
  L_REDUNDANT, L_REDUNDANT_BYTES, L_SILENT, L_ZERO_BYTES, LOADS, REALLOC_FORGETS, RECORD_SIZE, S_APPROXIMATE,
  S_DEALLOCATED, S_HOST_READ, S_OVER_ZERO, S_OVERWRITTEN, S_READ, S_SAME, S_SILENT, S_SILENT_BYTES, S_STORES, S_WRITTEN,
  SIZES, STORES, ZERO_IS_VALID,
} from "./layout";
import { loadKey, storeKey } from "./contexts";
import { addPair, PAIR_DEALLOCATED, PAIR_OVERWRITTEN, PAIR_REDUNDANT, PAIR_RETURNED, PAIR_SILENT } from "./pairs";
import { markDirty, pagesInUse, takeDirty } from "./dirty";
import { programLoad8, programLoad64, programPages } from "./program";
import { blockAllocated, blockReleased, fieldDead, fieldRead, fieldSilent, fieldWritten } from "./objects";

@external("layout", "READERS")
declare const READERS: u32;
@external("layout", "SEEN")
declare const SEEN: u32;

// A writer's word: state in the two highest bits, key below. 0 is memory as the system gave it.
const KEY: u32 = 0x3fffffff;
const UNREAD: u32 = 0x40000000;
const READ: u32 = 0x80000000;
const INVALID: u32 = 0xc0000000;
const STATE: u32 = 0xc0000000;
/** Writer of data segments. Keys of store sites begin at 1. */
const INIT_KEY: u32 = 0x3fffffff;

@inline function bump(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline function storeRecord(key: u32): usize { return STORES + key * RECORD_SIZE; }
@inline function loadRecord(key: u32): usize { return LOADS + key * RECORD_SIZE; }
@inline function isReal(key: u32): bool { return key != 0 && key != INIT_KEY; }

function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, C_OUTSIDE) + 1, C_OUTSIDE);
  return true;
}

/** State of a writer's word that was never written. */
@inline function stateOf(word: u32): u32 {
  return word != 0 ? word & STATE : ZERO_IS_VALID != 0 ? UNREAD : INVALID;
}

/** The byte is read: its writer gets the credit, once. True if it had been read since it was written. */
@inline function creditByte(at: usize): bool {
  const word = load<u32>(at);
  const state = stateOf(word);
  if (state == READ) return true;
  if (state == UNREAD) {
    const key = word & KEY;
    if (isReal(key)) bump(storeRecord(key) + S_READ, 1);
    store<u32>(at, READ | key);
  }
  return false;
}

/** The byte's memory is gone. */
@inline function endByte(at: usize, reason: u32): void {
  const word = load<u32>(at);
  if (stateOf(word) == UNREAD) {
    const key = word & KEY;
    if (isReal(key)) {
      bump(storeRecord(key) + S_DEALLOCATED, 1);
      addPair(reason, key, 0, 1, 1);
      fieldDead(<u32>(at >>> 2));
    }
  }
  store<u32>(at, INVALID);
}

function invalidate(address: u32, size: u32, reason: u32): void {
  for (let i: u32 = 0; i < size; i++) {
    endByte((address + i) << 2, reason);
    store<u32>(READERS + ((address + i) << 2), 0);
  }
}

/** A load of `size` bytes by site `site`, behind it; `float` is the operand's size where it is a float, else 0. */
export function loaded(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  const key = loadKey(site);
  const record = loadRecord(key);
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  let stale = true;
  let redundant = true;
  let hasReaders = true;
  let zeros: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    if (!creditByte(at << 2)) stale = false;
    fieldRead(at);
    const value = programLoad8(at);
    if (value == 0) zeros++;
    if (load<u32>(READERS + (at << 2)) == 0) { redundant = false; hasReaders = false; }
    else if (load<u8>(SEEN + at) != value) redundant = false;
  }
  if (stale) bump(record + L_SILENT, 1);
  bump(record + L_ZERO_BYTES, zeros);
  if (redundant) {
    bump(record + L_REDUNDANT, 1);
    bump(record + L_REDUNDANT_BYTES, size);
  } else if (float != 0 && hasReaders && seenIsNear(address, float)) bump(record + L_APPROXIMATE, 1);
  let previous: u32 = 0;
  let run: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    const reader = load<u32>(READERS + (at << 2));
    if (redundant) {
      if (reader != previous && run != 0) { addPair(PAIR_REDUNDANT, previous, key, run, 1); run = 0; }
      previous = reader;
      run++;
    }
    store<u32>(READERS + (at << 2), key);
    store<u8>(SEEN + at, <u8>programLoad8(at));
  }
  if (run != 0) addPair(PAIR_REDUNDANT, previous, key, run, 1);
}

function isNear(before: f64, after: f64): bool {
  if (before != before || after != after) return false;
  if (abs(before) == Infinity || abs(after) == Infinity) return false;
  if (before == 0 || after == 0) return before == after;
  return abs(after - before) <= 0.01 * abs(before);
}

function floatOf(bits: u64, size: u32): f64 {
  return size == 4 ? <f64>reinterpret<f32>(<u32>bits) : reinterpret<f64>(bits);
}

function programBits(address: u32, size: u32): u64 {
  let bits: u64 = 0;
  for (let i: u32 = size; i != 0; i--) bits = (bits << 8) | programLoad8(address + i - 1);
  return bits;
}

function seenIsNear(address: u32, size: u32): bool {
  let bits: u64 = 0;
  for (let i: u32 = size; i != 0; i--) bits = (bits << 8) | load<u8>(SEEN + address + i - 1);
  return isNear(floatOf(bits, size), floatOf(programBits(address, size), size));
}

/** Keeps the bytes that a store is about to change. Traps where the store would. */
export function storing(address: u32, size: u32): void {
  for (let i: u32 = 0; i < size; i++) store<u8>(CONTROL + C_SCRATCH + i, <u8>programLoad8(address + i));
}

/** The byte is overwritten by `key`. Returns the writer's word from before. */
@inline function overwriteByte(address: u32, key: u32): u32 {
  const at: usize = address << 2;
  const word = load<u32>(at);
  if (stateOf(word) == UNREAD) {
    const writer = word & KEY;
    if (isReal(writer)) bump(storeRecord(writer) + S_OVERWRITTEN, 1);
  }
  store<u32>(at, UNREAD | key);
  return word;
}

// Writers that one operation killed, and those it repeated, collected into pairs: an operation counts once for each.
let killed: u32 = 0;
let killedBytes: u32 = 0;

function killByte(address: u32, word: u32, key: u32): void {
  const writer = word & KEY;
  if (stateOf(word) != UNREAD || !isReal(writer)) return;
  fieldDead(address);
  if (writer != killed && killedBytes != 0) {
    addPair(PAIR_OVERWRITTEN, killed, key, killedBytes, 1);
    killedBytes = 0;
  }
  killed = writer;
  killedBytes++;
}

function endKills(key: u32): void {
  if (killedBytes != 0) addPair(PAIR_OVERWRITTEN, killed, key, killedBytes, 1);
  killedBytes = 0;
}

/** A store of `size` bytes by site `site`, behind it; `storing` came before. `float` as in `loaded`. */
export function stored(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  const key = storeKey(site);
  const record = storeRecord(key);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  let same: u32 = 0;
  let equal: u32 = 0;
  let valid: u32 = 0;
  let zero: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const word = load<u32>((address + i) << 2);
    const isValid = stateOf(word) != INVALID;
    const isEqual = load<u8>(CONTROL + C_SCRATCH + i) == programLoad8(address + i);
    equal += isEqual ? 1 : 0;
    valid += isValid ? 1 : 0;
    same += isEqual && isValid ? 1 : 0;
    zero += (word & KEY) == 0 && isValid ? 1 : 0;
    fieldWritten(address + i);
  }
  bump(record + S_SAME, same);
  const silent = same == size;
  if (silent) {
    bump(record + S_SILENT, 1);
    bump(record + S_SILENT_BYTES, size);
    if (zero == size) bump(record + S_OVER_ZERO, 1);
    silentPairs(address, size, key);
  } else if (float != 0 && valid == size) {
    let bits: u64 = 0;
    for (let i: u32 = float; i != 0; i--) bits = (bits << 8) | load<u8>(CONTROL + C_SCRATCH + i - 1);
    if (isNear(floatOf(bits, float), floatOf(programBits(address, float), float))) bump(record + S_APPROXIMATE, 1);
  }
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) killByte(address + i, overwriteByte(address + i, key), key);
  endKills(key);
}

function silentPairs(address: u32, size: u32, key: u32): void {
  let previous: u32 = 0;
  let run: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const writer = load<u32>((address + i) << 2) & KEY;
    if (run != 0 && writer != previous) { addPair(PAIR_SILENT, previous, key, run, 1); run = 0; }
    previous = writer;
    run++;
    fieldSilent(address + i);
  }
  if (run != 0) addPair(PAIR_SILENT, previous, key, run, 1);
}

/** Bytes `0 … size` of a bulk store, before it: whether the value at `i` will be `equal` decides silence. */
@inline function bulkByte(at: u32, isEqual: bool, key: u32, record: usize): u32 {
  const word = load<u32>(at << 2);
  const isValid = stateOf(word) != INVALID;
  fieldWritten(at);
  killByte(at, overwriteByte(at, key), key);
  return isEqual && isValid ? 1 : 0;
}

function endBulk(address: u32, size: u32, same: u32, key: u32, record: usize): void {
  endKills(key);
  markDirty(address, size);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  bump(record + S_SAME, same);
  if (same == size && size != 0) {
    bump(record + S_SILENT, 1);
    bump(record + S_SILENT_BYTES, size);
  }
}

/** A range is read outside of load instructions: by a copy (a load of `site`), or by the host (0). */
function readRange(address: u32, size: u32, site: u32): void {
  let stale = size != 0;
  for (let i: u32 = 0; i < size; i++) {
    if (!creditByte((address + i) << 2)) stale = false;
    if (site != 0) fieldRead(address + i);
  }
  if (site == 0) return;
  const record = loadRecord(loadKey(site));
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  if (stale) bump(record + L_SILENT, 1);
}

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  // Traps as the copy would, before anything is counted.
  if (size != 0) { programLoad8(destination + size - 1); programLoad8(source + size - 1); }
  readRange(source, size, load<u32>(CONTROL, C_LOAD_SITE));
  const key = storeKey(load<u32>(CONTROL, C_STORE_SITE));
  const record = storeRecord(key);
  let same: u32 = 0;
  for (let i: u32 = 0; i < size; i++)
    same += bulkByte(destination + i, programLoad8(destination + i) == programLoad8(source + i), key, record);
  endBulk(destination, size, same, key, record);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size != 0) programLoad8(address + size - 1);
  const key = storeKey(load<u32>(CONTROL, C_STORE_SITE));
  const record = storeRecord(key);
  let same: u32 = 0;
  for (let i: u32 = 0; i < size; i++)
    same += bulkByte(address + i, programLoad8(address + i) == (value & 255), key, record);
  endBulk(address, size, same, key, record);
}

/** Behind `memory.init`, whose bytes cannot be compared any more. */
export function initialized(address: u32, size: u32): void {
  writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE));
}

function writeRange(address: u32, size: u32, site: u32): void {
  if (outside(address, size)) return;
  const key = storeKey(site);
  const record = storeRecord(key);
  for (let i: u32 = 0; i < size; i++) bulkByte(address + i, false, key, record);
  endBulk(address, size, 0, key, record);
}

/** A data segment was put here before the program ran. */
export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  for (let i: u32 = 0; i < size; i++) store<u32>((address + i) << 2, UNREAD | INIT_KEY);
}

export function hostRead(address: u32, size: u32): void {
  if (!outside(address, size)) readRange(address, size, 0);
}

/** The host wrote on behalf of the call at hand. */
export function hostWrote(address: u32, size: u32): void {
  writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE));
}

/** A host that says nothing of what it reads is in control: it may have read everything. */
export function hostMayRead(): void {
  notePages();
  const pages = pagesInUse();
  for (let page = takeDirty(0, pages); page < pages; page = takeDirty(page, pages)) {
    const end = min<u32>((page + 1) << 12, COVERED);
    for (let at: u32 = page << 12; at < end; at++) {
      const word = load<u32>(at << 2);
      if ((word & STATE) != UNREAD) continue;
      const key = word & KEY;
      if (isReal(key)) bump(storeRecord(key) + S_HOST_READ, 1);
      store<u32>(at << 2, READ | key);
    }
  }
}

// Blocks

export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  notePages();
  if (address == 0 || outside(address, size)) return;
  invalidate(address, size, PAIR_DEALLOCATED);
  store<u32>(SIZES + ((address >>> 3) << 2), size + 1);
  blockAllocated(address, size);
  if (zeroedBy != 0) writeRange(address, size, zeroedBy);
}

function takeSize(address: u32): u32 {
  if (address == 0 || address >= COVERED) return 0;
  const at = SIZES + ((address >>> 3) << 2);
  const size = load<u32>(at);
  store<u32>(at, 0);
  return size;
}

export function released(address: u32): void {
  const known = takeSize(address);
  if (known == 0) return;
  invalidate(address, known - 1, PAIR_DEALLOCATED);
  blockReleased(address);
}

export function reallocated(old: u32, address: u32, size: u32): void {
  notePages();
  if (old == 0) { allocated(address, size, 0); return; }
  if (address == 0) {
    if (size == 0) released(old);
    return;
  }
  if (outside(address, size)) return;
  const known = takeSize(old);
  const before: u32 = known == 0 ? 0 : known - 1;
  const kept = min(before, size);
  if (address == old) {
    if (size < before) invalidate(address + size, before - size, PAIR_DEALLOCATED);
    else if (size > before) invalidate(address + before, size - before, PAIR_DEALLOCATED);
  } else {
    invalidate(address, size, PAIR_DEALLOCATED);
    markDirty(address, size);
    if (REALLOC_FORGETS == 0) {
      memory.copy(address << 2, old << 2, kept << 2);
      memory.copy(READERS + (address << 2), READERS + (old << 2), kept << 2);
      memory.copy(SEEN + address, SEEN + old, kept);
      memory.fill(old << 2, 0, kept << 2);
    }
    invalidate(old, before, PAIR_DEALLOCATED);
  }
  blockReleased(old);
  blockAllocated(address, size);
  store<u32>(SIZES + ((address >>> 3) << 2), size + 1);
}

/** Frames are not larger; what moves the stack pointer further changes to another stack. */
const LARGEST_FRAME: u32 = 2000000;

export function stackMoved(from: u32, to: u32): void {
  const low = min(from, to);
  const size = max(from, to) - low;
  if (size == 0 || size > LARGEST_FRAME || outside(low, size)) return;
  invalidate(low, size, PAIR_RETURNED);
}

export function notePages(): void {
  store<u32>(CONTROL, programPages(), C_PAGES);
}

/** A compare-exchange as deadstores sees it: its operand is read, and nothing is counted. */
export function touched(address: u32, size: u32): void {
  hostRead(address, size);
}
