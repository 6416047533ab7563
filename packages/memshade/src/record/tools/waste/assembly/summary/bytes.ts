// Shadow memory of summary mode: a word of 16 bits per byte of the program. The word is the id of the last store until
// the byte is read; then it becomes all ones, and the store is credited. All other bytes of a store were overwritten,
// so that stores need not read the words.
import { INIT, INVALID, MARKS, STORES, shadowClaim, ZERO_IS_VALID } from "../imports";
import { GRANULE_SHIFT, Store } from "../layout.generated";
import { shownEnd, showsZeros } from "../memory";
import { idOfKey, isNone, moveOverflow, overflow, readsOf, recordOf, resolveOverflow } from "./ids";

// Ids that are no stores: read; invalid, which differs from read in the lowest bit only; written by a data segment; and
// 0, memory as the system provided it. For the other ids, and for bytes of stores without an id, see ids.ts.
export const READ: u32 = 0xffff;

/** Lowest bit of each of four ids. */
export const LOWEST: u64 = 0x0001000100010001;

@inline
export function bump(at: usize, by: u64): void {
  store<u64>(at, load<u64>(at) + by);
}
@inline
export function isReal(id: u32): bool {
  return id - (INIT + 1) < INVALID - (INIT + 1);
}
@inline
export function isInvalid(id: u32): bool {
  return id === INVALID || (ZERO_IS_VALID === 0 && id === 0);
}
@inline
export function gone(): u64 {
  return <u64>INVALID * LOWEST;
}
@inline
export function idAt(address: u32): u32 {
  return load<u16>(address << 1);
}
@inline
function setId(address: u32, id: u32): void {
  store<u16>(address << 1, <u16>id);
}

/** Marks the granules of a load of unread bytes as read. */
@inline
export function markRead(address: u32, size: u32): void {
  if (MARKS === 0) return;
  const last = (address + size - 1) >>> GRANULE_SHIFT;
  for (let granule = address >>> GRANULE_SHIFT; granule <= last; granule++) store<u8>(MARKS + granule, 1);
}

@inline
export function markFewRead(address: u32, size: u32): void {
  if (MARKS === 0) return;
  const first = MARKS + (address >>> GRANULE_SHIFT);
  if (size === 16) store<u32>(first, 0x01010101);
  else if (size === 8) store<u16>(first, 0x0101);
  else store<u8>(first, 1);
  // The access may begin in the middle of a granule.
  if (size !== 1) store<u8>(MARKS + ((address + size - 1) >>> GRANULE_SHIFT), 1);
}

export function markRangeRead(address: u32, size: u32): void {
  if (MARKS === 0 || size === 0) return;
  const first = address >>> GRANULE_SHIFT;
  memory.fill(MARKS + first, 1, ((address + size - 1) >>> GRANULE_SHIFT) - first + 1);
}

/** Bytes whose ids fill a vector. */
const WIDE: u32 = 8;

/** Credits the writers of a range. Returns true if all of it was already read since it was written. */
export function readRange(address: u32, size: u32): bool {
  resolveOverflow(address, size, Store.read);
  let at: usize = address << 1;
  let stale = true;
  for (const end = at + ((size & ~31) << 1); at !== end; at += 64) if (!readLine(at)) stale = false;
  for (const end = at + ((size & 28) << 1); at !== end; at += 8) {
    const ids = load<u64>(at);
    if (ids !== -1 && !readIds(at, ids, 4)) stale = false;
  }
  if ((size & 3) === 0) return stale;
  const laterLanes: u64 = (<u64>-1) << ((size & 3) << 4);
  const ids = load<u64>(at);
  if ((ids | laterLanes) === -1) return stale;
  if (!readIds(at, ids | laterLanes, size & 3)) stale = false;
  store<u64>(at, (load<u64>(at) & ~laterLanes) | (ids & laterLanes));
  return stale;
}

@inline
function readLine(at: usize): bool {
  const low = v128.and(v128.load(at), v128.load(at, 16));
  if (!v128.any_true(v128.not(v128.and(low, v128.and(v128.load(at, 32), v128.load(at, 48)))))) return true;
  const id = load<u16>(at);
  if (isReal(id) && isUniform(at, 32, id) && isUniform(at + 32, 32, id)) {
    setRead(at, 64);
    bump(readsOf(id), 32);
    return false;
  }
  let stale = true;
  for (const end = at + 64; at !== end; at += 8) {
    const ids = load<u64>(at);
    if (ids !== -1 && !readIds(at, ids, 4)) stale = false;
  }
  return stale;
}

/**
 * Reads up to `bytes` bytes by their words, some of which are unread. Returns true if the unread ones were zeros that
 * the host has read.
 */
function readIds(at: usize, ids: u64, bytes: u32): bool {
  if (showsZeros() && hasZero(ids)) {
    const address: u32 = at >>> 1;
    const laterLanes = bytes === 4 ? 0 : (<u64>-1) << (bytes << 4);
    resolveZeros(address, address + bytes);
    ids = load<u64>(at) | laterLanes;
    if (ids === -1) return true;
  }
  readWord(at, ids, 8);
  return false;
}

/** Reads 1, 2, 4, 8 or 16 bytes (a constant), of which some are unread. */
@inline
export function readFew(address: u32, size: u32): void {
  resolveOverflow(address, size, Store.read);
  const at: usize = address << 1;
  const id = idAt(address);
  // The usual case: one store wrote all bytes.
  if (isUniform(at, size << 1, id)) {
    if (isInvalid(id)) return;
    setRead(at, size << 1);
    bump(readsOf(id), size);
    return;
  }
  readMixed(address, size);
}

/** Reads bytes of which some were read before, or which several stores wrote. */
function readMixed(address: u32, size: u32): void {
  const at: usize = address << 1;
  const bytes = size << 1;
  if (bytes === 4) readWord(at, load<u32>(at) | 0xffffffff00000000, 4);
  else
    for (let i: u32 = 0; i < bytes; i += 8) {
      const ids = load<u64>(at + i);
      if (ids !== -1) readWord(at + i, ids, 8);
    }
}

/** Reads the bytes whose words `ids` are at `at`. The words take `bytes` bytes, up to 8. */
@inline
function readWord(at: usize, ids: u64, bytes: u32): void {
  // Usually one store wrote all of the unread bytes.
  const id = <u32>(ids >>> (ctz(~ids) & 48)) & 0xffff;
  const idLanes = equalLanes(ids, <u64>id * LOWEST);
  if ((ids | (idLanes * 0xffff)) === -1 && id < INVALID && (ZERO_IS_VALID !== 0 || id !== 0)) {
    bump(readsOf(id), popcnt(idLanes));
    storeIds(at, -1, bytes);
    return;
  }
  // Avoids branches: a processor cannot predict how many stores wrote the other bytes.
  const a = <u32>ids & 0xffff;
  const b = <u32>(ids >>> 16) & 0xffff;
  let count: u64 = 1;
  creditRun(a, a !== b, 0, count);
  count = a === b ? count + 1 : 1;
  if (bytes === 8) {
    const c = <u32>(ids >>> 32) & 0xffff;
    const d = <u32>(ids >>> 48);
    creditRun(b, b !== c, 1, count);
    count = b === c ? count + 1 : 1;
    creditRun(c, c !== d, 2, count);
    count = c === d ? count + 1 : 1;
    creditRun(d, true, 3, count);
  } else creditRun(b, true, 1, count);
  // Invalid bytes stay invalid; their word differs from that of read ones in the lowest bit.
  let nextIds = ~equalLanes(ids, gone());
  if (ZERO_IS_VALID === 0) nextIds &= ~(equalLanes(ids, 0) * 0xffff);
  storeIds(at, nextIds, bytes);
}

@inline
function storeIds(at: usize, ids: u64, bytes: u32): void {
  if (bytes === 2) store<u16>(at, <u16>ids);
  else if (bytes === 4) store<u32>(at, <u32>ids);
  else store<u64>(at, ids);
}

/**
 * Credits an id for a run of equal ids, at the end of the run. Otherwise the count is added to a word that is never
 * read. The words differ, since additions to one word wait for each other.
 */
@inline
function creditRun(id: u32, isLast: bool, number: u32, count: u64): void {
  bump(select<usize>(readsOf(id), STORES + (number << 3), u32(isLast) & u32(id < INVALID)), count);
}

@inline
function equalLanes(ids: u64, otherIds: u64): u64 {
  const difference = ids ^ otherIds;
  const low: u64 = 0x7fff7fff7fff7fff;
  // Highest bit of each lane that is not zero, with no carry into the next lane.
  const differs = ((difference & low) + low) | difference;
  return (~differs >>> 15) & LOWEST;
}

@inline
function isUniform(at: usize, bytes: u32, id: u32): bool {
  if (bytes === 2) return true;
  if (bytes === 4) return load<u32>(at) === (id | (id << 16));
  if (bytes === 8) {
    const ids = load<u64>(at);
    return ids === rotl<u64>(ids, 16);
  }
  const expectedIds = i16x8.splat(<i16>id);
  let difference = v128.xor(v128.load(at), expectedIds);
  if (bytes === 32) difference = v128.or(difference, v128.xor(v128.load(at, 16), expectedIds));
  return !v128.any_true(difference);
}

@inline
function setRead(at: usize, bytes: u32): void {
  if (bytes === 2) store<u16>(at, 0xffff);
  else if (bytes === 4) store<u32>(at, 0xffffffff);
  else if (bytes === 8) store<u64>(at, -1);
  else for (let i: u32 = 0; i < bytes; i += 16) v128.store(at + i, i8x16.splat(-1));
}

@inline
function hasZero(ids: u64): bool {
  return ((ids - 0x0001000100010001) & ~ids & 0x8000800080008000) !== 0;
}

@inline
function isValidWord(ids: u64): bool {
  return ids === -1 || (!hasZero(ids ^ gone()) && (ZERO_IS_VALID !== 0 || !hasZero(ids)));
}

/** Returns the ids of up to 8 bytes in a vector; its other lanes are 0. */
@inline
function idsAt(at: usize, size: u32): v128 {
  return size === 2 ? v128.load32_zero(at) : size === 4 ? v128.load64_zero(at) : v128.load(at);
}

@inline
export function fewAreValid(address: u32, size: u32): bool {
  const at: usize = address << 1;
  if (size === 1) return !isInvalid(idAt(address));
  if (ZERO_IS_VALID !== 0 && size <= 8)
    return !v128.any_true(i16x8.eq(idsAt(at, size), i16x8.splat(<i16>INVALID)));
  if (size === 2) return isValidWord(load<u32>(at) | 0xffffffff00000000);
  if (size === 4) return isValidWord(load<u64>(at));
  if (size === 8) return isValidWord(load<u64>(at)) && isValidWord(load<u64>(at, 8));
  return areValid(address, size);
}

export function areValid(address: u32, size: u32): bool {
  let at: usize = address << 1;
  for (const end = at + ((size & ~3) << 1); at !== end; at += 8)
    if (!isValidWord(load<u64>(at))) return false;
  const laterLanes: u64 = (<u64>-1) << ((size & 3) << 4);
  return (size & 3) === 0 || isValidWord(load<u64>(at) | laterLanes);
}

export function setRange(address: u32, size: u32, id: u32): void {
  const ids = <u64>id * LOWEST;
  let at: usize = address << 1;
  if (size >= WIDE) {
    const idVector = i64x2.splat(ids);
    const last = at + ((size - WIDE) << 1);
    for (; at + 64 <= last; at += 64) {
      v128.store(at, idVector);
      v128.store(at, idVector, 16);
      v128.store(at, idVector, 32);
      v128.store(at, idVector, 48);
    }
    for (; at < last; at += 16) v128.store(at, idVector);
    // If less than a vector is left, the last vector overlaps the one before.
    v128.store(last, idVector);
    return;
  }
  if ((size & 4) !== 0) {
    store<u64>(at, ids);
    at += 8;
  }
  if ((size & 2) !== 0) {
    store<u32>(at, <u32>ids);
    at += 4;
  }
  if ((size & 1) !== 0) store<u16>(at, <u16>ids);
}

@inline
export function fewAreRead(address: u32, size: u32): bool {
  const at: usize = address << 1;
  if (size === 1) return load<u16>(at) === READ;
  if (size === 2) return load<u32>(at) === -1;
  if (size === 4) return load<u64>(at) === -1;
  if (size === 8) return (load<u64>(at) & load<u64>(at, 8)) === -1;
  return areRead(address, size);
}

/** Returns the bits in which the ids of 1, 2, 4, 8 or 16 bytes (a constant) differ from an id that fills a vector. */
@inline
export function differ(address: u32, size: u32, id: v128): v128 {
  const at: usize = address << 1;
  if (size === 1) return v128.xor(v128.load16_splat(at), id);
  if (size === 2) return v128.xor(v128.load32_splat(at), id);
  if (size === 4) return v128.xor(v128.load64_splat(at), id);
  const low = v128.xor(v128.load(at), id);
  return size === 8 ? low : v128.or(low, v128.xor(v128.load(at, 16), id));
}

@inline
export function setAlike(address: u32, size: u32, id: v128): void {
  const at: usize = address << 1;
  if (size === 1) v128.store16_lane(at, id, 0);
  else if (size === 2) v128.store32_lane(at, id, 0);
  else if (size === 4) v128.store64_lane(at, id, 0);
  else for (let i: u32 = 0; i < size << 1; i += 16) v128.store(at + i, id);
}

@inline
export function writeFew(address: u32, size: u32, key: u32): void {
  const id = idOfKey(key);
  if (isNone(id)) overflow(address, size, key);
  else setFew(address, size, id);
}

@inline
export function setFew(address: u32, size: u32, id: u32): void {
  setAlike(address, size, i16x8.splat(<i16>id));
}

@inline
export function overwrite(address: u32, size: u32, key: u32): void {
  const id = idOfKey(key);
  if (isNone(id)) overflow(address, size, key);
  else setRange(address, size, id);
}

export function setInit(address: u32, size: u32): void {
  setRange(address, size, INIT);
}

/** Resolves the zeros of a load that seems to have unread bytes. Returns false if the load cannot be silent. */
@inline
export function resolveFew(address: u32, size: u32): bool {
  const id = idAt(address);
  if ((id !== 0 && id !== READ) || address >= shownEnd()) return false;
  resolveZeros(address, address + size);
  return true;
}

/** Marks zeros from `low` to `high` as read if the host has read them. */
export function resolveZeros(low: u32, high: u32): void {
  const end = min(high, shownEnd());
  let address = low;
  while (address < end) {
    if ((address & (WIDE - 1)) === 0 && end - address >= WIDE) {
      const ids = v128.load(address << 1);
      const zeros = i16x8.eq(ids, i64x2.splat(0));
      if (v128.any_true(zeros)) v128.store(address << 1, v128.or(ids, zeros));
      address += WIDE;
      continue;
    }
    if (idAt(address) === 0) setId(address, READ);
    address++;
  }
}

export function hostReadsAll(from: u32, end: u32): void {
  resolveOverflow(from, end - from, Store.hostRead);
  const invalid = i16x8.splat(<i16>INVALID);
  const read = i8x16.splat(-1);
  for (let at: u32 = from; at < end; at += WIDE) {
    const ids = v128.load(at << 1);
    const settledLanes = v128.or(
      i16x8.eq(ids, i16x8.splat(0)),
      v128.or(i16x8.eq(ids, invalid), i16x8.eq(ids, read)),
    );
    if (i16x8.all_true(settledLanes)) continue;
    markRead(at, WIDE);
    const first = idAt(at);
    const firstIds = i16x8.splat(<i16>first);
    if (isReal(first) && !v128.any_true(v128.xor(ids, firstIds))) {
      bump(recordOf(first) + Store.hostRead, WIDE);
      v128.store(at << 1, read);
      continue;
    }
    for (let i: u32 = at; i < at + WIDE; i++) {
      const id = idAt(i);
      if (isReal(id)) bump(recordOf(id) + Store.hostRead, 1);
      else if (id !== INIT) continue;
      setId(i, READ);
    }
  }
}

@inline
export function isFilled(at: usize, id: u32): bool {
  const expectedIds = i16x8.splat(<i16>id);
  const low = v128.or(
    v128.or(v128.xor(v128.load(at), expectedIds), v128.xor(v128.load(at, 16), expectedIds)),
    v128.or(v128.xor(v128.load(at, 32), expectedIds), v128.xor(v128.load(at, 48), expectedIds)),
  );
  const high = v128.or(
    v128.or(v128.xor(v128.load(at, 64), expectedIds), v128.xor(v128.load(at, 80), expectedIds)),
    v128.or(v128.xor(v128.load(at, 96), expectedIds), v128.xor(v128.load(at, 112), expectedIds)),
  );
  return !v128.any_true(v128.or(low, high));
}

@inline
export function fillLine(at: usize, ids: v128): void {
  v128.store(at, ids);
  v128.store(at, ids, 16);
  v128.store(at, ids, 32);
  v128.store(at, ids, 48);
  v128.store(at, ids, 64);
  v128.store(at, ids, 80);
  v128.store(at, ids, 96);
  v128.store(at, ids, 112);
}

/** Returns the bits that all words of a line's shadow memory share. */
@inline
export function commonOfLine(at: usize): v128 {
  const low = v128.and(
    v128.and(v128.load(at), v128.load(at, 16)),
    v128.and(v128.load(at, 32), v128.load(at, 48)),
  );
  const high = v128.and(
    v128.and(v128.load(at, 64), v128.load(at, 80)),
    v128.and(v128.load(at, 96), v128.load(at, 112)),
  );
  return v128.and(low, high);
}

/** Moves the state of `size` bytes. The old bytes become invalid. */
export function moveBytes(to: u32, from: u32, size: u32): void {
  memory.copy(to << 1, from << 1, size << 1);
  moveOverflow(to, from, size);
  setRange(from, size, INVALID);
}

export function areRead(address: u32, size: u32): bool {
  return readUntil(address, address + size) === address + size;
}

/**
 * Returns the end of the bytes from `low` on that were all read; `high` at most. The result may be some bytes too low.
 */
export function readUntil(low: u32, high: u32): u32 {
  let at: usize = low << 1;
  const end: usize = high << 1;
  for (; at + 128 <= end; at += 128) if (v128.any_true(v128.not(commonOfLine(at)))) return at >>> 1;
  for (; at + 8 <= end; at += 8) if (load<u64>(at) !== -1) return at >>> 1;
  for (; at < end; at += 2) if (load<u16>(at) !== 0xffff) return at >>> 1;
  return high;
}

/** Returns the end of the bytes that may be unread. The result may be some bytes too high. */
export function unreadEnd(low: u32, high: u32): u32 {
  while (high - low > 64 && areRead(high - 64, 64)) high -= 64;
  return high;
}

/** Prepares the shadow memory of a page that the program is about to use: see blocks.ts. */
@inline
export function claimShadow(address: u32): void {
  shadowClaim(address << 1);
  shadowClaim((address << 1) + 4096);
}
