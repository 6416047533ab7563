// Loads and stores in summary mode, exact to the byte. Plain ones do most of their work inline, and call what is here where the
// shadow says that something happened.
import { bump, fewAreRead, fewAreValid, overwrite, readFew, readRange, resolveFew } from "./bytes";
import { markDirty, showsZeros } from "../dirty";
import { markFewRead, markRead } from "./objects";
import { recordOfStore, storeRecord } from "./ids";
import { CONTROL, COVERED, LOADS, LOAD_SHIFT, programLoad8 } from "../imports";
import { Control, Load, Store } from "../layout.generated";

@inline
export function loadRecord(key: u32): usize {
  return LOADS + (key << LOAD_SHIFT);
}

export function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.outside) + 1, Control.outside);
  return true;
}

/** A load of which some byte was not read before, unless the host has seen what nobody has stored. `size` is a constant. */
@inline
function freshFew(address: u32, size: u32, site: u32): void {
  markFewRead(address, size);
  if (showsZeros() && resolveFew(address, size) && fewAreRead(address, size)) return;
  bump(loadRecord(site) + Load.fresh, 1);
  readFew(address, size);
}

// A function for each size: zstd takes a tenth longer with one for all.
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

/** The same of a load that has been counted. */
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

/** A load by a function: any size, with the test. */
export function loaded(address: u32, size: u32, site: u32, _float: u32): void {
  if (outside(address, size)) return;
  const record = loadRecord(site);
  bump(record + Load.loads, 1);
  if (readRange(address, size)) return;
  markRead(address, size);
  bump(record + Load.fresh, 1);
}

/** A store whose operand equals what is there, before the store. The bytes follow where all stores of a site are one size. */
export function same(address: u32, size: u32, site: u32): void {
  if (fewAreValid(address, size)) bump(recordOfStore(site) + Store.silent, 1);
}

// Stores by a function: the operand's bytes are kept before and compared behind.
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
