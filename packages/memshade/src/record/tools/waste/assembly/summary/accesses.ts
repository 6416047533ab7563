// Loads and stores in summary mode, exact to the byte. Plain ones do most of their work inline. They call these
// functions if the shadow memory shows that a state must change.

import { CONTROL, COVERED, LOAD_SHIFT, LOADS, programLoad8, programLoad64 } from "../imports";
import { Control, DIRTY_LINE_SHIFT, Load, Store } from "../layout.generated";
import { markDirty, NO_LINE, notePages, showsZeros, showZeros, takeDirty } from "../memory";
import {
  areValid,
  bump,
  fewAreRead,
  fewAreValid,
  hostReadsAll,
  overwrite,
  readFew,
  readRange,
  resolveFew,
  setInit,
  markFewRead,
  markRangeRead,
  markRead,
} from "./bytes";
import { recordOfStore, storeRecord } from "./ids";
import { carriesMarks } from "./objects";

@inline
export function loadRecord(key: u32): usize {
  return LOADS + (key << LOAD_SHIFT);
}

export function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.outside) + 1, Control.outside);
  return true;
}

/**
 * Records a load with at least one unread byte, unless the host has read the zeros that it finds. `size` is a constant.
 */
@inline
function freshFew(address: u32, size: u32, site: u32): void {
  markFewRead(address, size);
  if (showsZeros() && resolveFew(address, size) && fewAreRead(address, size)) return;
  bump(loadRecord(site) + Load.fresh, 1);
  readFew(address, size);
}

// Variants per size: with a common function, zstd takes a tenth longer.
export function fresh1(address: u32, site: u32): void {
  freshFew(address, 1, site);
}
export function fresh2(address: u32, site: u32): void {
  freshFew(address, 2, site);
}
export function fresh4(address: u32, site: u32): void {
  freshFew(address, 4, site);
}
export function fresh8(address: u32, site: u32): void {
  freshFew(address, 8, site);
}
export function fresh16(address: u32, site: u32): void {
  freshFew(address, 16, site);
}

/** Variants for a load that has been counted already. */
export function mixed1(address: u32): void {
  readFew(address, 1);
}
export function mixed2(address: u32): void {
  readFew(address, 2);
}
export function mixed4(address: u32): void {
  readFew(address, 4);
}
export function mixed8(address: u32): void {
  readFew(address, 8);
}
export function mixed16(address: u32): void {
  readFew(address, 16);
}

/** Records a load of any size by a call, with the test for unread bytes. */
export function loaded(address: u32, size: u32, site: u32, _float: u32): void {
  if (outside(address, size)) return;
  const record = loadRecord(site);
  bump(record + Load.loads, 1);
  if (readRange(address, size)) return;
  markRead(address, size);
  bump(record + Load.fresh, 1);
}

/**
 * Called before a store whose operand equals the bytes in memory. Its bytes follow from the count, since all stores of
 * a site have one size.
 */
export function same(address: u32, size: u32, site: u32): void {
  if (fewAreValid(address, size)) bump(recordOfStore(site) + Store.silent, 1);
}

// Stores by a call: `storing` keeps the bytes before the store, `stored` compares them after it.
let kept0: u64 = 0;
let kept1: u64 = 0;

function programBits(address: u32, size: u32): u64 {
  let bits: u64 = 0;
  for (let i: u32 = size; i !== 0; i--) bits = (bits << 8) | programLoad8(address + i - 1);
  return bits;
}

export function storing(address: u32, size: u32): void {
  kept0 = programBits(address, min<u32>(size, 8));
  if (size > 8) kept1 = programBits(address + 8, size - 8);
}

export function stored(address: u32, size: u32, site: u32, _float: u32): void {
  if (outside(address, size)) return;
  bump(storeRecord(site) + Store.stores, 1);
  const equal =
    programBits(address, min<u32>(size, 8)) === kept0 &&
    (size <= 8 || programBits(address + 8, size - 8) === kept1);
  if (equal && fewAreValid(address, size)) bump(storeRecord(site) + Store.silent, 1);
  markDirty(address, size);
  overwrite(address, size, site);
}

// Ranges: bulk instructions, data segments, and the host.

export function writeRange(address: u32, size: u32, site: u32, equal: bool): void {
  const record = storeRecord(site);
  bump(record + Store.stores, 1);
  bump(record + Store.written, size);
  if (equal && size !== 0 && areValid(address, size)) {
    bump(record + Store.silent, 1);
    bump(record + Store.silentBytes, size);
  }
  markDirty(address, size);
  overwrite(address, size, site);
}

function holdSame(first: u32, second: u32, size: u32): bool {
  for (; size >= 8; size -= 8, first += 8, second += 8)
    if (programLoad64(first) !== programLoad64(second)) return false;
  for (; size !== 0; size--, first++, second++)
    if (programLoad8(first) !== programLoad8(second)) return false;
  return true;
}

function holds(address: u32, value: u32, size: u32): bool {
  const values = <u64>value * 0x0101010101010101;
  for (; size >= 8; size -= 8, address += 8) if (programLoad64(address) !== values) return false;
  for (; size !== 0; size--, address++) if (programLoad8(address) !== value) return false;
  return true;
}

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  if (size !== 0) {
    programLoad8(destination + size - 1);
    programLoad8(source + size - 1);
  }
  if (!carriesMarks(destination, source, size)) markRangeRead(source, size);
  readBulk(source, size);
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(destination, size, site, holdSame(destination, source, size));
}

export function left(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markRangeRead(address, size);
  readBulk(address, size);
}

function readBulk(address: u32, size: u32): void {
  const record = loadRecord(load<u32>(CONTROL, Control.loadSite));
  bump(record + Load.loads, 1);
  bump(record + Load.bytes, size);
  if (readRange(address, size) && size !== 0) bump(record + Load.silent, 1);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size !== 0) programLoad8(address + size - 1);
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(address, size, site, holds(address, value & 255, size));
}

let initEqual = false;

/**
 * Called before `memory.init` or a copy from another memory, once per piece. `size` bytes are at Control.initBytes;
 * `done` bytes were compared before.
 */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done === 0) initEqual = true;
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(address + i) === load<u8>(CONTROL + Control.initBytes + i);
    initEqual = initEqual && isEqual;
  }
}

export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(address, size, site, initEqual);
}

export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markDirty(address, size);
  setInit(address, size);
}

export function hostRead(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markRangeRead(address, size);
  readRange(address, size);
}

/** Records a write by the host. The bytes are not compared with the earlier ones. */
export function hostWrote(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, Control.storeSite), false);
}

/** Counts all dirty bytes as read by the host, whose reads are unknown. */
export function hostMayRead(): void {
  notePages();
  showZeros();
  for (let line = takeDirty(); line !== NO_LINE; line = takeDirty()) {
    // Inline stores mark only the line of their first byte.
    const end: u32 = min<u32>(((line + 1) << DIRTY_LINE_SHIFT) + 16, COVERED);
    hostReadsAll(line << DIRTY_LINE_SHIFT, end);
  }
}
