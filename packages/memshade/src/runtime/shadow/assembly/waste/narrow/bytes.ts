// What is known of each byte of the program's memory with ids of 16 bits: a word that is the id of the last store, until the byte is
// read. Then the id becomes all ones, and its store gets the credit; what a store overwrites unread is the rest. Stores need not look
// at what was there.
import { shownEnd, showsZeros } from "../dirty";
import { S_DEALLOCATED, S_HOST_READ, S_READ, STORES, ZERO_IS_VALID } from "../layout";

@external("layout", "INIT")
declare const INIT: u32;
@external("layout", "INVALID")
declare const INVALID: u32;
// Distance between the records of neighbouring ids, as a shift.
@external("layout", "RECORD_SHIFT")
declare const RECORD_SHIFT: u32;

// Ids that are no stores: read, written by a data segment, and the highest of them, invalid. 0 is memory as the system gave it.
// The record of a store is the one with its id's number.
export const READ: u32 = 0xffff;

@inline export function bump(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline export function storeRecord(key: u32): usize { return STORES + (key << RECORD_SHIFT); }
@inline export function isReal(id: u32): bool { return id > INVALID && id != READ; }
@inline export function isInvalid(id: u32): bool { return id == INVALID || (id == 0 && ZERO_IS_VALID == 0); }
@inline export function idAt(address: u32): u32 { return load<u16>(address << 1); }
@inline function setId(address: u32, id: u32): void { store<u16>(address << 1, <u16>id); }

/** Bytes whose ids fill a vector. */
const WIDE: u32 = 8;

/** Credits the writers of a range. True if all of it had been read since it was written. */
export function readRange(address: u32, size: u32): bool {
  let stale = true;
  const end = address + size;
  while (address < end) {
    if ((address & (WIDE - 1)) == 0 && end - address >= WIDE) {
      // Long ranges that have been read are skipped as vectors.
      const at: usize = address << 1;
      const ids = v128.load(at);
      if (!v128.any_true(v128.not(ids))) { address += WIDE; continue; }
      const first = idAt(address);
      const all = i16x8.splat(<i16>first);
      if (isReal(first) && !v128.any_true(v128.xor(ids, all))) {
        v128.store(at, i8x16.splat(-1));
        bump(storeRecord(first) + S_READ, WIDE);
        stale = false;
        address += WIDE;
        continue;
      }
    }
    const id = idAt(address);
    if (id != READ) {
      if (id == 0 && showsZeros() && address < shownEnd()) {
        setId(address++, READ);
        continue;
      }
      stale = false;
      if (!isInvalid(id)) {
        if (isReal(id)) {
          // Neighbours are from one store as a rule.
          let count: u32 = 1;
          setId(address, READ);
          while (address + count < end && idAt(address + count) == id) { setId(address + count, READ); count++; }
          bump(storeRecord(id) + S_READ, count);
          address += count;
          continue;
        }
        setId(address, READ);
      }
    }
    address++;
  }
  return stale;
}

/** Up to 16 bytes are read, of which some were not before. */
@inline export function readFew(address: u32, size: u32): void {
  const at: usize = address << 1;
  const id = idAt(address);
  // One store wrote all of it: the usual case.
  if (isUniform(at, size << 1, id)) {
    if (isInvalid(id)) return;
    setRead(at, size << 1);
    // The records of ids that are no stores are there, and nobody reads them.
    const record = storeRecord(id);
    store<u64>(record, load<u64>(record, S_READ) + size, S_READ);
    return;
  }
  readMixed(address, size);
}

/** Some bytes were read before, or several stores wrote them. */
function readMixed(address: u32, size: u32): void {
  const at: usize = address << 1;
  const bytes = size << 1;
  if (bytes == 4) readWord(at, load<u32>(at) | 0xffffffff00000000, 4, 1);
  else for (let i: u32 = 0; i < bytes; i += 8) readWord(at + i, load<u64>(at + i), 8, 1);
}

/** `times` loads find these ids of up to 16 bytes, each in another place. False if all bytes were read before. */
export function readTimes(at: usize, size: u32, times: u32): bool {
  let isRead = true;
  if (size < 4) {
    const ids = size == 1 ? <u64>load<u16>(at) | 0xffffffffffff0000 : <u64>load<u32>(at) | 0xffffffff00000000;
    if (ids == -1) return false;
    readWord(at, ids, size << 1, times);
    return true;
  }
  for (let i: u32 = 0; i < size << 1; i += 8) {
    const ids = load<u64>(at + i);
    if (ids == -1) continue;
    isRead = false;
    readWord(at + i, ids, 8, times);
  }
  return !isRead;
}

/** Ids side by side, of bytes that are read now, so many times; where they are, and how many bytes they take, up to 8. */
@inline function readWord(at: usize, ids: u64, bytes: u32, times: u32): void {
  // Those that were read before have no bits here.
  let unread = ~ids;
  let invalid: u64 = 0;
  while (unread != 0) {
    const id = <u32>((ids >>> (ctz(unread) & 48)) & 0xffff);
    // All bytes of this id, as a rule half of them.
    const equal = lanesOf(ids, id);
    if (isInvalid(id)) invalid |= equal;
    else if (isReal(id)) bump(storeRecord(id) + S_READ, (popcnt(equal) >>> 4) * times);
    unread &= ~equal;
  }
  const left = ids & invalid | ~invalid;
  if (bytes == 2) store<u16>(at, <u16>left);
  else if (bytes == 4) store<u32>(at, <u32>left);
  else store<u64>(at, left);
}

/** All bits of those ids side by side that are this one. */
@inline function lanesOf(ids: u64, id: u32): u64 {
  const other = ids ^ <u64>id * 0x0001000100010001;
  const low: u64 = 0x7fff7fff7fff7fff;
  // The highest bit of each that is not zero, with no carry into its neighbour.
  const differs = ((other & low) + low) | other;
  return ((~differs >>> 15) & 0x0001000100010001) * 0xffff;
}

/** Whether `bytes` of the shadow (a power of two from 2 to 32) hold one id only. */
@inline function isUniform(at: usize, bytes: u32, id: u32): bool {
  if (bytes == 2) return true;
  if (bytes == 4) return load<u32>(at) == (id | (id << 16));
  if (bytes == 8) { const ids = load<u64>(at); return ids == rotl<u64>(ids, 16); }
  const all = i16x8.splat(<i16>id);
  let other = v128.xor(v128.load(at), all);
  if (bytes == 32) other = v128.or(other, v128.xor(v128.load(at, 16), all));
  return !v128.any_true(other);
}

@inline function setRead(at: usize, bytes: u32): void {
  if (bytes == 2) store<u16>(at, 0xffff);
  else if (bytes == 4) store<u32>(at, 0xffffffff);
  else if (bytes == 8) store<u64>(at, -1);
  else for (let i: u32 = 0; i < bytes; i += 16) v128.store(at + i, i8x16.splat(-1));
}

/** Whether some lane of ids side by side is zero. */
@inline function hasZero(ids: u64): bool {
  return ((ids - 0x0001000100010001) & ~ids & 0x8000800080008000) != 0;
}

@inline function isValidWord(ids: u64): bool {
  return ids == -1 || (!hasZero(ids ^ gone()) && (ZERO_IS_VALID != 0 || !hasZero(ids)));
}

/** Whether no byte of a range is invalid. */
@inline export function isValid(address: u32, size: u32): bool {
  const at: usize = address << 1;
  if (size == 1) return !isInvalid(idAt(address));
  if (size == 2) return isValidWord(load<u32>(at) | 0xffffffff00000000);
  if (size == 4) return isValidWord(load<u64>(at));
  if (size == 8) return isValidWord(load<u64>(at)) && isValidWord(load<u64>(at, 8));
  return isValidRange(address, size);
}

function isValidRange(address: u32, size: u32): bool {
  for (let i: u32 = 0; i < size; i++) if (isInvalid(idAt(address + i))) return false;
  return true;
}

export function setRange(address: u32, size: u32, id: u32): void {
  const vector = i16x8.splat(<i16>id);
  for (; size >= 4 * WIDE; size -= 4 * WIDE) {
    const at: usize = address << 1;
    v128.store(at, vector);
    v128.store(at, vector, 16);
    v128.store(at, vector, 32);
    v128.store(at, vector, 48);
    address += 4 * WIDE;
  }
  for (; size >= WIDE; size -= WIDE) {
    v128.store(address << 1, vector);
    address += WIDE;
  }
  for (; size != 0; size--) setId(address++, id);
}

/** Whether all of 1, 2, 4, 8 or 16 bytes were read; a constant. */
@inline export function fewAreRead(address: u32, size: u32): bool {
  const at: usize = address << 1;
  if (size == 1) return load<u16>(at) == READ;
  if (size == 2) return load<u32>(at) == -1;
  if (size == 4) return load<u64>(at) == -1;
  if (size == 8) return (load<u64>(at) & load<u64>(at, 8)) == -1;
  return areRead(address, size);
}

/** 1, 2, 4, 8 or 16 bytes, a constant, are written by the store `id`. */
@inline export function writeFew(address: u32, size: u32, id: u32): void {
  const at: usize = address << 1;
  const ids = <u64>id * 0x0001000100010001;
  if (size == 1) store<u16>(at, <u16>id);
  else if (size == 2) store<u32>(at, <u32>ids);
  else if (size == 4) store<u64>(at, ids);
  else for (let i: u32 = 0; i < size << 1; i += 16) { store<u64>(at + i, ids); store<u64>(at + i, ids, 8); }
}

/** The range is written by the store `id`. */
@inline export function overwrite(address: u32, size: u32, id: u32): void { setRange(address, size, id); }

/** A data segment was put here. */
export function setInit(address: u32, size: u32): void { setRange(address, size, INIT); }

/** As `settleZeros` for a load of which some byte looks unread. False if it is not silent whatever the others are. */
@inline export function settleFew(address: u32, size: u32): bool {
  const id = idAt(address);
  if ((id != 0 && id != READ) || address >= shownEnd()) return false;
  settleZeros(address, address + size);
  return true;
}

/** Zeros from `low` to `high` that the host has seen are read. */
export function settleZeros(low: u32, high: u32): void {
  const end = min(high, shownEnd());
  let address = low;
  while (address < end) {
    if ((address & (WIDE - 1)) == 0 && end - address >= WIDE) {
      const ids = v128.load(address << 1);
      const zeros = i16x8.eq(ids, i64x2.splat(0));
      if (v128.any_true(zeros)) v128.store(address << 1, v128.or(ids, zeros));
      address += WIDE;
      continue;
    }
    if (idAt(address) == 0) setId(address, READ);
    address++;
  }
}

/** A host that says nothing of what it reads may have read a range of whole vectors. */
export function hostReadsAll(from: u32, end: u32): void {
  const invalid = i16x8.splat(<i16>INVALID);
  const read = i8x16.splat(-1);
  for (let at: u32 = from; at < end; at += WIDE) {
    const ids = v128.load(at << 1);
    const settled = v128.or(i16x8.eq(ids, i16x8.splat(0)), v128.or(i16x8.eq(ids, invalid), i16x8.eq(ids, read)));
    if (i16x8.all_true(settled)) continue;
    const first = idAt(at);
    const all = i16x8.splat(<i16>first);
    if (isReal(first) && !v128.any_true(v128.xor(ids, all))) {
      bump(storeRecord(first) + S_HOST_READ, WIDE);
      v128.store(at << 1, read);
      continue;
    }
    for (let i: u32 = at; i < at + WIDE; i++) {
      const id = idAt(i);
      if (isReal(id)) bump(storeRecord(id) + S_HOST_READ, 1);
      else if (id != INIT) continue;
      setId(i, READ);
    }
  }
}

/** Whether 128 bytes of the shadow hold one id only. */
@inline function isFilled(at: usize, id: u32): bool {
  const all = i16x8.splat(<i16>id);
  const low = v128.or(
    v128.or(v128.xor(v128.load(at), all), v128.xor(v128.load(at, 16), all)),
    v128.or(v128.xor(v128.load(at, 32), all), v128.xor(v128.load(at, 48), all)));
  const high = v128.or(
    v128.or(v128.xor(v128.load(at, 64), all), v128.xor(v128.load(at, 80), all)),
    v128.or(v128.xor(v128.load(at, 96), all), v128.xor(v128.load(at, 112), all)));
  return !v128.any_true(v128.or(low, high));
}

@inline function fillLine(at: usize, all: v128): void {
  v128.store(at, all); v128.store(at, all, 16); v128.store(at, all, 32); v128.store(at, all, 48);
  v128.store(at, all, 64); v128.store(at, all, 80); v128.store(at, all, 96); v128.store(at, all, 112);
}

@inline function gone(): u64 { return <u64>INVALID * 0x0001000100010001; }

/** Whether all of a short range is invalid already: what begins now ended before, as a rule. */
@inline export function isGone(address: u32, size: u32): bool {
  const all = i64x2.splat(gone());
  let at: usize = address << 1;
  const end: usize = at + (size << 1);
  let other = i64x2.splat(0);
  for (; end - at >= 32; at += 32)
    other = v128.or(other, v128.or(v128.xor(v128.load(at), all), v128.xor(v128.load(at, 16), all)));
  if (v128.any_true(other)) return false;
  for (; at < end; at += 2) if (idAt(<u32>(at >>> 1)) != INVALID) return false;
  return true;
}

/** Blocks from this size on are looked at 128 bytes of shadow at a time. */
export const LARGE_BLOCK: u32 = 512;

/** The memory is gone: bytes that nobody read are charged to their writers. */
export function invalidate(address: u32, size: u32): void {
  const none = gone();
  const all = i64x2.splat(none);
  let at: usize = address << 1;
  const end: usize = at + (size << 1);
  if (size >= LARGE_BLOCK) {
    // Large blocks are of one store, read or invalid for long stretches.
    for (; end - at >= 128; at += 128) {
      const id = idAt(<u32>(at >>> 1));
      if (isFilled(at, id)) {
        if (id == INVALID) continue;
        chargeGone(id, 128 >>> 1);
      } else for (let i: usize = at; i < at + 128; i += 8) wordGone(load<u64>(i));
      fillLine(at, all);
    }
  }
  // Words as wide as the stores that filled them: a processor has not put those into its cache yet when a frame ends.
  for (; end - at >= 32; at += 32) {
    const a = load<u64>(at);
    const b = load<u64>(at, 8);
    const c = load<u64>(at, 16);
    const d = load<u64>(at, 24);
    if (((a ^ none) | (b ^ none) | (c ^ none) | (d ^ none)) == 0) continue;
    if ((a & b & c & d) != -1) {
      wordGone(a);
      wordGone(b);
      wordGone(c);
      wordGone(d);
    }
    v128.store(at, all);
    v128.store(at, all, 16);
  }
  for (; end - at >= 8; at += 8) {
    wordGone(load<u64>(at));
    store<u64>(at, none);
  }
  for (address = <u32>(at >>> 1); at < end; at += 2) {
    chargeGone(idAt(address), 1);
    setId(address++, INVALID);
  }
}

/** A word of ids is gone. */
@inline function wordGone(ids: u64): void {
  if (ids != -1 && ids != gone()) chargeWord(ids);
}

function chargeWord(ids: u64): void {
  if (ids == rotl<u64>(ids, 16)) chargeGone(<u32>ids & 0xffff, 4);
  else for (let i = 0; i < 4; i++, ids >>>= 16) chargeGone(<u32>ids & 0xffff, 1);
}

@inline function chargeGone(id: u32, bytes: u32): void {
  if (isReal(id)) bump(storeRecord(id) + S_DEALLOCATED, bytes);
}

/** What is known of `size` bytes goes with them; what is left behind is read. */
export function moveBytes(to: u32, from: u32, size: u32): void {
  memory.copy(to << 1, from << 1, size << 1);
  setRange(from, size, READ);
}

/** Whether all bytes of a range were read. */
export function areRead(address: u32, size: u32): bool {
  let at: usize = address << 1;
  const end: usize = (address + size) << 1;
  for (; at + 128 <= end; at += 128) {
    const low = v128.and(v128.and(v128.load(at), v128.load(at, 16)), v128.and(v128.load(at, 32), v128.load(at, 48)));
    const high = v128.and(v128.and(v128.load(at, 64), v128.load(at, 80)), v128.and(v128.load(at, 96), v128.load(at, 112)));
    if (v128.any_true(v128.not(v128.and(low, high)))) return false;
  }
  for (; at + 8 <= end; at += 8) if (load<u64>(at) != -1) return false;
  for (; at < end; at += 2) if (load<u16>(at) != 0xffff) return false;
  return true;
}
