// Byte-exact waste with one id per byte: the site of the last store, until the byte is read. The id is 16 or 32 bits
// wide. Plain loads and stores do most of their work inline; what is here runs where something happened.
import {
  C_INIT_BYTES, C_LOAD_SITE, C_OUTSIDE, C_STORE_SITE, C_ZEROED_SITE, CONTROL, COVERED, L_BYTES, L_FRESH, L_LOADS,
  L_SILENT, LOADS, REALLOC_FORGETS, S_DEALLOCATED, S_HOST_READ, S_READ, S_SAME, S_SILENT, S_SILENT_BYTES, S_STORES,
  S_WRITTEN, STORES, ZERO_IS_VALID,
} from "./layout";
import { LINE_SHIFT, markDirty, NO_LINE, takeDirty } from "./dirty";
import { keepSize, notePages, takeSize } from "./memory";
import { programLoad8 } from "./program";

// Bytes of an id as a shift: 1 or 2.
@external("layout", "ID_SHIFT")
export declare const ID_SHIFT: u32;
// Distance between the records of neighbouring ids, and of neighbouring numbers of loads, as a shift.
@external("layout", "RECORD_SHIFT")
declare const RECORD_SHIFT: u32;
@external("layout", "LOAD_SHIFT")
declare const LOAD_SHIFT: u32;
// Ids that are no stores: read (all ones), written by a data segment, and the highest of them, invalid. 0 is memory as the
// system gave it. The record of a store is the one with its id's number.
@external("layout", "READ")
export declare const READ: u32;
@external("layout", "INVALID")
export declare const INVALID: u32;
@external("layout", "INIT")
declare const INIT: u32;
// Whether bytes that stay the same are counted in stores that change others.
@external("layout", "SAME_BYTES")
declare const SAME_BYTES: u32;

@inline export function bump(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }
@inline export function storeRecord(key: u32): usize { return STORES + (key << RECORD_SHIFT); }
@inline export function loadRecord(key: u32): usize { return LOADS + (key << LOAD_SHIFT); }
@inline export function isReal(id: u32): bool { return id > INVALID && id != READ; }
@inline export function isInvalid(id: u32): bool { return id == INVALID || (id == 0 && ZERO_IS_VALID == 0); }

@inline export function idAt(address: u32): u32 {
  return ID_SHIFT == 1 ? load<u16>(address << 1) : load<u32>(address << 2);
}

@inline export function setId(address: u32, id: u32): void {
  if (ID_SHIFT == 1) store<u16>(address << 1, <u16>id);
  else store<u32>(address << 2, id);
}

function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, C_OUTSIDE) + 1, C_OUTSIDE);
  return true;
}

/** Credits the writers of a range. True if all of it had been read since it was written. */
function readRange(address: u32, size: u32): bool {
  let stale = true;
  const end = address + size;
  const wide: u32 = ID_SHIFT == 1 ? 8 : 4;
  while (address < end) {
    if ((address & (wide - 1)) == 0 && end - address >= wide) {
      // Long ranges that have been read are skipped as vectors.
      const at: usize = address << ID_SHIFT;
      const ids = v128.load(at);
      if (!v128.any_true(v128.not(ids))) { address += wide; continue; }
      const first = idAt(address);
      const all = ID_SHIFT == 1 ? i16x8.splat(<i16>first) : i32x4.splat(first);
      if (isReal(first) && !v128.any_true(v128.xor(ids, all))) {
        v128.store(at, i8x16.splat(-1));
        bump(storeRecord(first) + S_READ, wide);
        stale = false;
        address += wide;
        continue;
      }
    }
    const id = idAt(address);
    if (id != READ) {
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

/** A load of which some byte was not read before. */
export function fresh1(address: u32, site: u32): void { countFresh(site); readFresh(address, 1); }
export function fresh2(address: u32, site: u32): void { countFresh(site); readFresh(address, 2); }
export function fresh4(address: u32, site: u32): void { countFresh(site); readFresh(address, 4); }
export function fresh8(address: u32, site: u32): void { countFresh(site); readFresh(address, 8); }
export function fresh16(address: u32, site: u32): void { countFresh(site); readFresh(address, 16); }

/** The same where the caller has counted it and knows that its bytes differ. */
export function mixed2(address: u32): void { readMixed(address, 2); }
export function mixed4(address: u32): void { readMixed(address, 4); }
export function mixed8(address: u32): void { readMixed(address, 8); }
export function mixed16(address: u32): void { readMixed(address, 16); }

@inline export function countFresh(site: u32): void {
  const fresh = loadRecord(site);
  store<u64>(fresh, load<u64>(fresh, L_FRESH) + 1, L_FRESH);
}

@inline function readFresh(address: u32, size: u32): void {
  const at: usize = address << ID_SHIFT;
  const id = idAt(address);
  // One store wrote all of it: the usual case.
  if (isUniform(at, size << ID_SHIFT, id)) {
    if (isInvalid(id)) return;
    setRead(at, size << ID_SHIFT);
    // The records of ids that are no stores are there, and nobody reads them.
    const record = storeRecord(id);
    store<u64>(record, load<u64>(record, S_READ) + size, S_READ);
    return;
  }
  readMixed(address, size);
}

/** As what `fresh4` and its like do, for any size. */
export function readFreshOf(address: u32, size: u32): void { readFresh(address, size); }

/** Some bytes were read before, or several stores wrote them. */
function readMixed(address: u32, size: u32): void {
  const at: usize = address << ID_SHIFT;
  const bytes = size << ID_SHIFT;
  if (bytes == 4) readWord(at, load<u32>(at) | 0xffffffff00000000, 4);
  else for (let i: u32 = 0; i < bytes; i += 8) readWord(at + i, load<u64>(at + i), 8);
}

// Bits of an id, and a mask of them.
@inline function idBits(): u64 { return ID_SHIFT == 1 ? 16 : 32; }
@inline function idMask(): u64 { return ID_SHIFT == 1 ? 0xffff : 0xffffffff; }

/** Ids side by side, of bytes that are read now; where they are, and how many bytes they take, 4 or 8. */
@inline function readWord(at: usize, ids: u64, bytes: u32): void {
  // Those that were read before have no bits here.
  let unread = ~ids;
  let invalid: u64 = 0;
  while (unread != 0) {
    const shift = ctz(unread) & (64 - idBits());
    if (credit(<u32>((ids >>> shift) & idMask()))) invalid |= idMask() << shift;
    unread &= ~(idMask() << shift);
  }
  const left = ids & invalid | ~invalid;
  if (bytes == 4) store<u32>(at, <u32>left);
  else store<u64>(at, left);
}

/** A byte with this id is read, for the first time. True if it stays invalid. */
@inline function credit(id: u32): bool {
  if (isReal(id)) bump(storeRecord(id) + S_READ, 1);
  return isInvalid(id);
}

/** Whether `bytes` of the shadow (a power of two from 2 to 64) hold one id only. */
@inline function isUniform(at: usize, bytes: u32, id: u32): bool {
  if (bytes == 2) return true;
  if (ID_SHIFT == 1) {
    if (bytes == 4) { const v = load<u32>(at); return v == (id | (id << 16)); }
    if (bytes == 8) { const v = load<u64>(at); return v == rotl<u64>(v, 16); }
  } else {
    if (bytes == 4) return true;
    if (bytes == 8) { const v = load<u64>(at); return v == rotl<u64>(v, 32); }
  }
  const all = ID_SHIFT == 1 ? i16x8.splat(<i16>id) : i32x4.splat(id);
  let other = v128.xor(v128.load(at), all);
  if (bytes >= 32) other = v128.or(other, v128.xor(v128.load(at, 16), all));
  if (bytes == 64) {
    other = v128.or(other, v128.xor(v128.load(at, 32), all));
    other = v128.or(other, v128.xor(v128.load(at, 48), all));
  }
  return !v128.any_true(other);
}

@inline function setRead(at: usize, bytes: u32): void {
  if (bytes == 2) store<u16>(at, 0xffff);
  else if (bytes == 4) store<u32>(at, 0xffffffff);
  else if (bytes == 8) store<u64>(at, -1);
  else for (let i: u32 = 0; i < bytes; i += 16) v128.store(at + i, i8x16.splat(-1));
}

/** A load by a function: any size, with the test. */
export function loaded(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  const record = loadRecord(site);
  bump(record + L_LOADS, 1);
  if (!readRange(address, size)) bump(record + L_FRESH, 1);
}

/** Whether some lane of ids side by side is zero. */
@inline function hasZero(ids: u64): bool {
  const ones: u64 = ID_SHIFT == 1 ? 0x0001000100010001 : 0x0000000100000001;
  return ((ids - ones) & ~ids & (ones << (idBits() - 1))) != 0;
}

@inline function isValidWord(ids: u64): bool {
  return ids == -1 || (!hasZero(ids ^ gone()) && (ZERO_IS_VALID != 0 || !hasZero(ids)));
}

function isValid(address: u32, size: u32): bool {
  const at: usize = address << ID_SHIFT;
  const bytes = size << ID_SHIFT;
  if (bytes == 8) return isValidWord(load<u64>(at));
  if (bytes == 16) return isValidWord(load<u64>(at)) && isValidWord(load<u64>(at, 8));
  if (bytes == 2) return !isInvalid(idAt(address));
  if (bytes == 4) return isValidWord(load<u32>(at) | 0xffffffff00000000);
  for (let i: u32 = 0; i < size; i++) if (isInvalid(idAt(address + i))) return false;
  return true;
}

/** A store whose operand equals what is there, before the store. The bytes follow where all stores of a site are one size. */
export function same(address: u32, size: u32, site: u32): void {
  sameAt(address, size, <u32>storeRecord(site));
}

/** The same of a site whose record is at an address. */
export function sameAt(address: u32, size: u32, record: u32): void {
  if (isValid(address, size)) bump(record + S_SILENT, 1);
}

// Stores by a function: the operand's bytes are kept before and compared behind.
let kept0: u64 = 0;
let kept1: u64 = 0;

function programBits(address: u32, size: u32): u64 {
  let bits: u64 = 0;
  for (let i: u32 = size; i != 0; i--) bits = (bits << 8) | programLoad8(address + i - 1);
  return bits;
}

export function storing(address: u32, size: u32): void {
  kept0 = programBits(address, min<u32>(size, 8));
  if (size > 8) kept1 = programBits(address + 8, size - 8);
}

export function stored(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  bump(storeRecord(site) + S_STORES, 1);
  const equal = programBits(address, min<u32>(size, 8)) == kept0 && (size <= 8 || programBits(address + 8, size - 8) == kept1);
  if (equal) same(address, size, site);
  if (SAME_BYTES != 0) countSame(address, size, storeRecord(site));
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) setId(address + i, site);
}

/** Valid bytes that a store found as it left them. */
function countSame(address: u32, size: u32, record: usize): void {
  for (let i: u32 = 0; i < size; i++) {
    const kept = <u32>((i < 8 ? kept0 >>> (i << 3) : kept1 >>> ((i - 8) << 3)) & 255);
    countSameByte(address + i, programLoad8(address + i) == kept, record);
  }
}

@inline function countSameByte(address: u32, isEqual: bool, record: usize): void {
  if (isEqual && !isInvalid(idAt(address))) bump(record + S_SAME, 1);
}

export function setRange(address: u32, size: u32, id: u32): void {
  const vector = ID_SHIFT == 1 ? i16x8.splat(<i16>id) : i32x4.splat(id);
  const wide: u32 = ID_SHIFT == 1 ? 8 : 4;
  for (; size >= wide; size -= wide) {
    v128.store(address << ID_SHIFT, vector);
    address += wide;
  }
  for (; size != 0; size--) setId(address++, id);
}

function writeRange(address: u32, size: u32, site: u32, equal: bool): void {
  const record = storeRecord(site);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  if (equal && size != 0 && isValid(address, size)) {
    bump(record + S_SILENT, 1);
    bump(record + S_SILENT_BYTES, size);
  }
  markDirty(address, size);
  setRange(address, size, site);
}

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  if (size != 0) { programLoad8(destination + size - 1); programLoad8(source + size - 1); }
  readBulk(source, size);
  const site = load<u32>(CONTROL, C_STORE_SITE);
  let equal = true;
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(destination + i) == programLoad8(source + i);
    equal = equal && isEqual;
    if (SAME_BYTES != 0) countSameByte(destination + i, isEqual, storeRecord(site));
    else if (!equal) break;
  }
  writeRange(destination, size, site, equal);
}

/** A copy has put bytes of another memory here: what they are is not compared with what was there. */
export function arrived(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE), false);
}

/** A copy has read bytes for another memory. */
export function left(address: u32, size: u32): void {
  if (!outside(address, size)) readBulk(address, size);
}

function readBulk(address: u32, size: u32): void {
  const record = loadRecord(load<u32>(CONTROL, C_LOAD_SITE));
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  if (readRange(address, size) && size != 0) bump(record + L_SILENT, 1);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size != 0) programLoad8(address + size - 1);
  const site = load<u32>(CONTROL, C_STORE_SITE);
  let equal = true;
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(address + i) == (value & 255);
    equal = equal && isEqual;
    if (SAME_BYTES != 0) countSameByte(address + i, isEqual, storeRecord(site));
    else if (!equal) break;
  }
  writeRange(address, size, site, equal);
}

let initEqual = false;
let initSame: u32 = 0;

/** Before `memory.init`: `size` of its bytes are at C_INIT_BYTES; `done` of them came before. */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done == 0) { initEqual = true; initSame = 0; }
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(address + i) == load<u8>(CONTROL + C_INIT_BYTES + i);
    initEqual = initEqual && isEqual;
    if (SAME_BYTES != 0 && isEqual && address + i < COVERED && !isInvalid(idAt(address + i))) initSame++;
  }
}

/** Behind `memory.init`. */
export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  const site = load<u32>(CONTROL, C_STORE_SITE);
  if (SAME_BYTES != 0 && size != 0) bump(storeRecord(site) + S_SAME, initSame);
  writeRange(address, size, site, initEqual);
}

export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markDirty(address, size);
  setRange(address, size, INIT);
}

export function hostRead(address: u32, size: u32): void {
  if (!outside(address, size)) readRange(address, size);
}

export function hostWrote(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE), false);
}

/** A host that says nothing of what it reads is in control: it may have read everything. */
export function hostMayRead(): void {
  notePages();
  for (let line = takeDirty(); line != NO_LINE; line = takeDirty()) {
    // Inline stores mark the line of their first byte only.
    const end: u32 = min<u32>(((line + 1) << LINE_SHIFT) + 16, COVERED);
    hostReadsAll(line << LINE_SHIFT, end);
  }
}

function hostReadsAll(from: u32, end: u32): void {
  const wide: u32 = ID_SHIFT == 1 ? 8 : 4;
  const invalid = ID_SHIFT == 1 ? i16x8.splat(<i16>INVALID) : i32x4.splat(INVALID);
  const read = i8x16.splat(-1);
  for (let at: u32 = from; at < end; at += wide) {
    const ids = v128.load(at << ID_SHIFT);
    if (ID_SHIFT == 1) {
      const settled = v128.or(i16x8.eq(ids, i16x8.splat(0)), v128.or(i16x8.eq(ids, invalid), i16x8.eq(ids, read)));
      if (i16x8.all_true(settled)) continue;
    } else {
      const settled = v128.or(i32x4.eq(ids, i32x4.splat(0)), v128.or(i32x4.eq(ids, invalid), i32x4.eq(ids, read)));
      if (i32x4.all_true(settled)) continue;
    }
    const first = idAt(at);
    const all = ID_SHIFT == 1 ? i16x8.splat(<i16>first) : i32x4.splat(first);
    if (isReal(first) && !v128.any_true(v128.xor(ids, all))) {
      bump(storeRecord(first) + S_HOST_READ, wide);
      v128.store(at << ID_SHIFT, read);
      continue;
    }
    for (let i: u32 = at; i < at + wide; i++) {
      const id = idAt(i);
      if (isReal(id)) bump(storeRecord(id) + S_HOST_READ, 1);
      else if (id != INIT) continue;
      setId(i, READ);
    }
  }
}

/** Whether 128 bytes of the shadow hold one id only. */
@inline function isFilled(at: usize, id: u32): bool {
  const all = ID_SHIFT == 1 ? i16x8.splat(<i16>id) : i32x4.splat(id);
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

@inline function gone(): u64 { return ID_SHIFT == 1 ? <u64>INVALID * 0x0001000100010001 : <u64>INVALID | (<u64>INVALID << 32); }

/** Whether all of a short range is invalid already: what begins now ended before, as a rule. */
@inline function isGone(address: u32, size: u32): bool {
  const all = i64x2.splat(gone());
  let at: usize = address << ID_SHIFT;
  const end: usize = at + (size << ID_SHIFT);
  let other = i64x2.splat(0);
  for (; end - at >= 32; at += 32)
    other = v128.or(other, v128.or(v128.xor(v128.load(at), all), v128.xor(v128.load(at, 16), all)));
  if (v128.any_true(other)) return false;
  for (; at < end; at += 1 << ID_SHIFT) if (idAt(<u32>(at >>> ID_SHIFT)) != INVALID) return false;
  return true;
}

/** Blocks from this size on are looked at 128 bytes of shadow at a time. */
const LARGE_BLOCK: u32 = 512;

/** The memory is gone: bytes that nobody read are charged to their writers. */
function invalidate(address: u32, size: u32): void {
  const none = gone();
  const all = i64x2.splat(none);
  let at: usize = address << ID_SHIFT;
  const end: usize = at + (size << ID_SHIFT);
  if (size >= LARGE_BLOCK) {
    // Large blocks are of one store, read or invalid for long stretches.
    for (; end - at >= 128; at += 128) {
      const id = idAt(<u32>(at >>> ID_SHIFT));
      if (isFilled(at, id)) {
        if (id == INVALID) continue;
        chargeGone(id, 128 >>> ID_SHIFT);
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
  for (address = <u32>(at >>> ID_SHIFT); at < end; at += 1 << ID_SHIFT) {
    chargeGone(idAt(address), 1);
    setId(address++, INVALID);
  }
}

/** A word of ids is gone. */
@inline function wordGone(ids: u64): void {
  if (ids != -1 && ids != gone()) chargeWord(ids);
}

function chargeWord(ids: u64): void {
  if (ID_SHIFT == 2) {
    chargeGone(<u32>ids, 1);
    chargeGone(<u32>(ids >>> 32), 1);
  } else if (ids == rotl<u64>(ids, 16)) chargeGone(<u32>ids & 0xffff, 4);
  else for (let i = 0; i < 4; i++, ids >>>= 16) chargeGone(<u32>ids & 0xffff, 1);
}

@inline function chargeGone(id: u32, bytes: u32): void {
  if (isReal(id)) bump(storeRecord(id) + S_DEALLOCATED, bytes);
}

export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  notePages();
  let site = zeroedBy;
  if (zeroedBy != 0) {
    // The call that asked for the zeros, where it is known.
    const caller = load<u32>(CONTROL, C_ZEROED_SITE);
    if (caller != 0) site = caller;
    store<u32>(CONTROL, 0, C_ZEROED_SITE);
  }
  if (address == 0 || outside(address, size)) return;
  if (size >= LARGE_BLOCK || !isGone(address, size)) invalidate(address, size);
  keepSize(address, size);
  if (site != 0) writeRange(address, size, site, false);
}

export function released(address: u32): void {
  const known = takeSize(address);
  if (known != 0) invalidate(address, known - 1);
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
    if (size < before) invalidate(address + size, before - size);
    else if (size > before) invalidate(address + before, size - before);
  } else {
    invalidate(address, size);
    markDirty(address, size);
    if (REALLOC_FORGETS == 0) {
      memory.copy(address << ID_SHIFT, old << ID_SHIFT, kept << ID_SHIFT);
      setRange(old, kept, READ);
    }
    invalidate(old, before);
  }
  keepSize(address, size);
}

/** Frames are not larger; what moves the stack pointer further changes to another stack. */
const LARGEST_FRAME: u32 = 2000000;

export function stackMoved(from: u32, to: u32): void {
  const low = min(from, to);
  const size = max(from, to) - low;
  if (size == 0 || size > LARGEST_FRAME || outside(low, size)) return;
  if (to < from && size < LARGE_BLOCK && isGone(low, size)) return;
  invalidate(low, size);
}

export function touched(address: u32, size: u32): void {
  hostRead(address, size);
}
