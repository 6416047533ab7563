// What is known of each byte of the program's memory with ids of 32 bits: a state of 8 bits, and in a table of its own the id of the
// store that wrote the byte, which means something while the byte is unread. So loads look at little memory, and need not know
// whose bytes they read: stores charge what they overwrite unread to its writer, and what was read is the rest.
//
//   0xff   read since it was written
//   0x80   invalid: it is nobody's
//   0      unread
import { LINE_SHIFT, shownEnd, showsZeros } from "../dirty";
import { storeRecord } from "../chosen-ids/ids";
import { COVERED, S_DEALLOCATED, S_HOST_READ, S_LOST, ZERO_IS_VALID } from "../layout";
import { shadowClaim, writersClaim, writersCopy, writersLoad, writersLoad128, writersStore, writersStore128 } from "../tables";

// The ids, a u32 per byte of the program's memory.
@external("layout", "WRITERS")
declare const WRITERS: u32;
// Ids that are no stores: this one, of data segments, and 0 for memory as the system gave it. Their records are there, and
// nobody reads them. The record of a store is the one with its id's number.
@external("layout", "INIT")
declare const INIT: u32;

// A byte per line of dirty.ts: no zeros are left in it that count as read.
@external("layout", "SETTLED_LINES")
declare const SETTLED_LINES: u32;

/** The signs of states side by side; invalid bytes have nothing else. */
export const SIGNS: u64 = 0x8080808080808080;

@inline export function bump(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline function isReal(id: u32): bool { return id > INIT; }
@inline function isUnread(address: u32): bool { return load<u8>(address) == 0; }
@inline export function idsOf(address: u32): u32 { return WRITERS + (address << 2); }
@inline function idAt(address: u32): u32 { return writersLoad(idsOf(address)); }
@inline function isSettled(states: u64): bool { return (states & SIGNS) == SIGNS; }
/** Place of the lowest byte with a sign. */
@inline function firstOf(signs: u64): u32 { return <u32>ctz(signs) >>> 3; }

/** States of less than 8 bytes, as if all others were read. */
@inline function fewStates(address: u32, size: u32): u64 {
  if (size == 1) return <u64>load<u8>(address) | 0xffffffffffffff00;
  if (size == 2) return <u64>load<u16>(address) | 0xffffffffffff0000;
  if (size == 4) return <u64>load<u32>(address) | 0xffffffff00000000;
  return load<u64>(address) | (<u64>-1 << (size << 3));
}

@inline function putFew(address: u32, states: u64, size: u32): void {
  if (size == 4) { store<u32>(address, <u32>states); return; }
  for (; size >= 2; size -= 2, address += 2, states >>>= 16) store<u16>(address, <u16>states);
  if (size != 0) store<u8>(address, <u8>states);
}

/** Gives the bytes of a range one state each. */
export function putStates(address: u32, size: u32, states: u64): void {
  const all = i64x2.splat(states);
  for (; size >= 16; size -= 16, address += 16) v128.store(address, all);
  if ((size & 8) != 0) { store<u64>(address, states); address += 8; }
  if ((size & 4) != 0) { store<u32>(address, <u32>states); address += 4; }
  if ((size & 2) != 0) { store<u16>(address, <u16>states); address += 2; }
  if ((size & 1) != 0) store<u8>(address, <u8>states);
}

export function putIds(address: u32, size: u32, id: u32): void {
  let at: u32 = WRITERS + (address << 2);
  const all = i32x4.splat(id);
  // What is there already is not written again: long tables are not in the cache.
  for (; size >= 16; size -= 16, at += 64) {
    const low = v128.or(v128.xor(writersLoad128(at), all), v128.xor(writersLoad128(at + 16), all));
    const high = v128.or(v128.xor(writersLoad128(at + 32), all), v128.xor(writersLoad128(at + 48), all));
    if (!v128.any_true(v128.or(low, high))) continue;
    writersStore128(at, all);
    writersStore128(at + 16, all);
    writersStore128(at + 32, all);
    writersStore128(at + 48, all);
  }
  for (; size >= 4; size -= 4, at += 16) writersStore128(at, all);
  for (; size != 0; size--, at += 4) writersStore(at, id);
}

/** The range is written by the store `id`. */
export function overwrite(address: u32, size: u32, id: u32): void {
  charge(address, size, S_LOST);
  putStates(address, size, 0);
  putIds(address, size, id);
}

/** Whether all of 1, 2, 4, 8 or 16 bytes were read; a constant. */
@inline export function fewAreRead(address: u32, size: u32): bool {
  if (size < 8) return fewStates(address, size) == -1;
  return (size == 8 ? load<u64>(address) : load<u64>(address) & load<u64>(address, 8)) == -1;
}

/** 1, 2, 4, 8 or 16 bytes, a constant, are written by the store `id`. */
@inline export function writeFew(address: u32, size: u32, id: u32): void {
  overwriteFew(address, size);
  if (size < 8) putFew(address, 0, size);
  else for (let i: u32 = 0; i < size; i += 8) store<u64>(address + i, 0);
  putIds(address, size, id);
}

/** A data segment was put here. */
export function setInit(address: u32, size: u32): void { overwrite(address, size, INIT); }

/** 8 states after their bytes have been read. */
function readStates(address: u32, states: u64): u64 {
  let unread = ~states & SIGNS;
  if (ZERO_IS_VALID == 0)
    for (let left = unread; left != 0; left &= left - 1)
      if (idAt(address + firstOf(left)) == 0) unread &= ~(left & -left);
  // Of each that is unread the sign, and all bits below it.
  return states | unread | (unread - (unread >>> 7));
}

/** Up to 16 bytes are read, of which some were not before. */
@inline export function readFew(address: u32, size: u32): void {
  for (; size >= 8; size -= 8, address += 8) store<u64>(address, readStates(address, load<u64>(address)));
  if (size != 0) putFew(address, readStates(address, fewStates(address, size)), size);
}

/** The bytes of a range are read. True if all had been read since they were written. */
export function readRange(address: u32, size: u32): bool {
  if (showsZeros()) settleZeros(address, address + size);
  let stale = true;
  for (; size >= 16; size -= 16, address += 16) {
    if (!v128.any_true(v128.not(v128.load(address)))) continue;
    stale = false;
    readFew(address, 16);
  }
  if (!areRead(address, size)) {
    stale = false;
    readFew(address, size);
  }
  return stale;
}

/** Whether all bytes of a range were read. */
export function areRead(address: u32, size: u32): bool {
  const end = address + size;
  for (; address + 64 <= end; address += 64) {
    const low = v128.and(v128.load(address), v128.load(address, 16));
    const high = v128.and(v128.load(address, 32), v128.load(address, 48));
    if (v128.any_true(v128.not(v128.and(low, high)))) return false;
  }
  for (; address + 8 <= end; address += 8) if (load<u64>(address) != -1) return false;
  return address == end || fewStates(address, end - address) == -1;
}

/** 1, 2, 4, 8 or 16 bytes, a constant, are written over. */
@inline export function overwriteFew(address: u32, size: u32): void {
  if (size == 1) { if (isUnread(address)) bump(storeRecord(idAt(address)) + S_LOST, 1); }
  else if (size <= 4) { const unread = <u32>(~fewStates(address, size) & SIGNS); if (unread != 0) chargeHalf(address, unread, S_LOST); }
  else for (let i: u32 = 0; i < size; i += 8) chargeStates(address + i, load<u64>(address + i), S_LOST);
}

/**
 * Places of up to 16 bytes, `step` apart and `times` of them, are written over, which all have these states. Counts what is
 * lost.
 */
export function overwriteTimes(address: u32, size: u32, step: u32, times: u32, states: usize): void {
  for (let i: u32 = 0; i < size; i += 8) {
    const unread = ~(size < 8 ? fewStates(<u32>states, size) : load<u64>(states + i)) & SIGNS;
    if (unread == 0) continue;
    for (let n: u32 = 0; n < times; n++) chargeUnread(address + i + n * step, unread, S_LOST);
  }
}

/** A load finds these states of up to 16 bytes, which are not in the shadow; none of them is 0 for invalid. Makes them read. */
export function readTimes(states: usize, size: u32): bool {
  const at = <u32>states;
  if (fewAreRead(at, size)) return false;
  readFew(at, size);
  return true;
}

/** Blocks from this size on are looked at 64 bytes at a time. */
const LARGE_BLOCK: u32 = 256;

/** What nobody has read of a range is lost: counts it in the field `field` of its writers' records. */
function charge(address: u32, size: u32, field: usize): void {
  const signs = i64x2.splat(SIGNS);
  for (; size >= 64; size -= 64, address += 64) {
    const low = v128.and(v128.load(address), v128.load(address, 16));
    const high = v128.and(v128.load(address, 32), v128.load(address, 48));
    if (!v128.any_true(v128.andnot(signs, v128.and(low, high)))) continue;
    for (let i: u32 = 0; i < 64; i += 8) chargeStates(address + i, load<u64>(address + i), field);
  }
  for (; size >= 8; size -= 8, address += 8) chargeStates(address, load<u64>(address), field);
  if (size != 0) chargeStates(address, fewStates(address, size), field);
}

@inline function chargeStates(address: u32, states: u64, field: usize): void {
  if (!isSettled(states)) chargeUnread(address, ~states & SIGNS, field);
}

/** Of 8 bytes the unread ones, by their signs, are charged to their writers. */
function chargeUnread(address: u32, unread: u64, field: usize): void {
  // Neighbours are from one store as a rule.
  const id = idAt(address);
  if (unread == SIGNS && haveId(address, 8, id)) {
    bump(storeRecord(id) + field, 8);
    return;
  }
  if (<u32>unread != 0) chargeHalf(address, <u32>unread, field);
  if (unread >>> 32 != 0) chargeHalf(address + 4, <u32>(unread >>> 32), field);
}

/** The same of 4 bytes. */
@inline function chargeHalf(address: u32, unread: u32, field: usize): void {
  const id = idAt(address);
  if (unread == <u32>SIGNS && haveId(address, 4, id)) bump(storeRecord(id) + field, 4);
  else for (; unread != 0; unread &= unread - 1) bump(storeRecord(idAt(address + (ctz(unread) >>> 3))) + field, 1);
}

/** Whether 4 or 8 bytes, a constant, have an id. */
@inline function haveId(address: u32, size: u32, id: u32): bool {
  const at: u32 = WRITERS + (address << 2);
  const all = i32x4.splat(id);
  let other = v128.xor(writersLoad128(at), all);
  if (size == 8) other = v128.or(other, v128.xor(writersLoad128(at + 16), all));
  return !v128.any_true(other);
}

/** Whether some of 8 bytes is invalid. */
@inline function hasInvalid(states: u64): bool {
  const other = states ^ SIGNS;
  return ((other - 0x0101010101010101) & ~other & SIGNS) != 0;
}

/** Whether no byte of a range is invalid. */
@inline export function isValid(address: u32, size: u32): bool {
  if (ZERO_IS_VALID != 0) {
    if (size == 1) return load<u8>(address) != 0x80;
    if (size < 8) return !hasInvalid(fewStates(address, size));
    if (size == 8) return !hasInvalid(load<u64>(address));
  }
  return isValidRange(address, size);
}

function isValidRange(address: u32, size: u32): bool {
  if (ZERO_IS_VALID == 0) for (let i: u32 = 0; i < size; i++) if (isUnread(address + i) && idAt(address + i) == 0) return false;
  for (; size >= 8; size -= 8, address += 8) if (hasInvalid(load<u64>(address))) return false;
  return size == 0 || !hasInvalid(fewStates(address, size));
}

/** The memory is gone: bytes that nobody read are charged to their writers. */
export function invalidate(address: u32, size: u32): void {
  const all = i64x2.splat(SIGNS);
  if (size >= LARGE_BLOCK) {
    const lines = size & ~63;
    charge(address, lines, S_DEALLOCATED);
    putStates(address, lines, SIGNS);
    address += lines;
    size -= lines;
  }
  for (; size >= 16; size -= 16, address += 16) {
    if (!isSettled(load<u64>(address) & load<u64>(address, 8))) chargeVector(address);
    v128.store(address, all);
  }
  if (size >= 8) {
    chargeStates(address, load<u64>(address), S_DEALLOCATED);
    store<u64>(address, SIGNS);
    address += 8;
    size -= 8;
  }
  if (size == 0) return;
  // States behind the end stay.
  const behind: u64 = <u64>-1 << (size << 3);
  const states = load<u64>(address);
  chargeStates(address, states | behind, S_DEALLOCATED);
  store<u64>(address, (states & behind) | (SIGNS & ~behind));
}

/** Whether all of a range is invalid: 16 to 128 bytes, a constant and a multiple of 16. */
@inline export function isGone(address: u32, size: u32): bool {
  const all = i64x2.splat(SIGNS);
  let other = v128.xor(v128.load(address), all);
  if (size > 16) other = v128.or(other, v128.xor(v128.load(address, 16), all));
  if (size > 32) other = v128.or(other, v128.xor(v128.load(address, 32), all));
  if (size > 48) other = v128.or(other, v128.xor(v128.load(address, 48), all));
  if (size > 64) other = v128.or(other, v128.xor(v128.load(address, 64), all));
  if (size > 80) other = v128.or(other, v128.xor(v128.load(address, 80), all));
  if (size > 96) other = v128.or(other, v128.xor(v128.load(address, 96), all));
  if (size > 112) other = v128.or(other, v128.xor(v128.load(address, 112), all));
  return !v128.any_true(other);
}

/** The same of any size. */
export function areGone(address: u32, size: u32): bool {
  for (; size >= 64; size -= 64, address += 64) if (!isGone(address, 64)) return false;
  for (; size >= 8; size -= 8, address += 8) if (load<u64>(address) != SIGNS) return false;
  return size == 0;
}

/** As `invalidate`, of as many bytes as `isGone`. */
@inline export function endBytes(address: u32, size: u32): void {
  endVector(address);
  if (size > 16) endVector(address + 16);
  if (size > 32) endVector(address + 32);
  if (size > 48) endVector(address + 48);
  if (size > 64) endVector(address + 64);
  if (size > 80) endVector(address + 80);
  if (size > 96) endVector(address + 96);
  if (size > 112) endVector(address + 112);
}

/** What nobody has read of 16 bytes is gone. */
function chargeVector(address: u32): void {
  chargeStates(address, load<u64>(address), S_DEALLOCATED);
  chargeStates(address + 8, load<u64>(address, 8), S_DEALLOCATED);
}

/** Of 16 bytes. */
@inline function endVector(address: u32): void {
  if (!isSettled(load<u64>(address) & load<u64>(address, 8))) chargeVector(address);
  v128.store(address, i64x2.splat(SIGNS));
}

/** What is known of `size` bytes goes with them; what is left behind is nobody's. */
export function moveBytes(to: u32, from: u32, size: u32): void {
  memory.copy(to, from, size);
  writersCopy(WRITERS + (to << 2), WRITERS + (from << 2), size << 2);
  putStates(from, size, SIGNS);
}

/** As `settleZeros` for a load of which some byte looks unread. False if that was done before. */
@inline export function settleFew(address: u32, size: u32): bool {
  if (load<u8>(SETTLED_LINES + (address >>> LINE_SHIFT)) != 0) return false;
  settleZeros(address, address + size);
  return true;
}

/** Zeros from `low` to `high` that the host has seen are read, with others of their lines: ids are looked at once per line. */
export function settleZeros(low: u32, high: u32): void {
  const end = min(high, shownEnd());
  for (let line = low >>> LINE_SHIFT; (line << LINE_SHIFT) < end; line++)
    if (load<u8>(SETTLED_LINES + line) == 0) settleLine(line);
}

/** Loads of up to 16 bytes look at the line of their first byte only. */
const LONGEST: u32 = 16;

function settleLine(line: u32): void {
  const end = ((line + 1) << LINE_SHIFT) + LONGEST;
  const last = min(end, shownEnd());
  for (let at = line << LINE_SHIFT; at < last; at++)
    if (isUnread(at) && idAt(at) == 0) store<u8>(at, 0xff);
  // What is behind the end may be shown later.
  if (last == end || last == COVERED) store<u8>(SETTLED_LINES + line, 1);
}

/** A host that says nothing of what it reads may have read a range of whole vectors. */
export function hostReadsAll(from: u32, end: u32): void {
  for (let at: u32 = from; at < end; at += 8) {
    if (isSettled(load<u64>(at))) continue;
    for (let i: u32 = at; i < at + 8; i++) {
      if (!isUnread(i)) continue;
      const id = idAt(i);
      if (isReal(id)) bump(storeRecord(id) + S_HOST_READ, 1);
      else if (id != INIT) continue;
      store<u8>(i, 0xff);
    }
  }
}

/** A page of the program's memory is about to be used: see claim.ts. */
@inline export function claimShadow(address: u32): void {
  shadowClaim(address);
  for (let i: u32 = 0; i < 4; i++) writersClaim(idsOf(address) + (i << 12));
}
