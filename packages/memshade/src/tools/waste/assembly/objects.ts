// Blocks of the heap by the place that allocated them, and what happens to each offset of them. Only where asked for.
//
//   BLOCK_OF   u32 per 8 bytes of program memory: number of the block that holds them, 0 for none
//   BLOCKS     per block: address, size, site, next free or flags, times of its life, touched range; offsets B_*
//   SITES      per site a header, offsets O_*, and counts per offset: reads, writes, overwritten, deallocated, silent
import { allocationKey } from "./contexts";
import { C_BLOCK_FREE, C_BLOCK_NEXT, C_CLOCK, C_SITES_NEXT, CONTROL } from "./layout";
import { addPair, PAIR_INTO } from "./pairs";
import { INVALID, isReal, KEY, readerAt, stateOf, UNREAD, wordAt } from "./state";

@external("layout", "BLOCK_OF")
declare const BLOCK_OF: u32;
@external("layout", "BLOCKS")
declare const BLOCKS: u32;
@external("layout", "BLOCK_CAPACITY")
declare const BLOCK_CAPACITY: u32;
@external("layout", "SITES")
declare const SITES: u32;
@external("layout", "SITE_CAPACITY")
declare const SITE_CAPACITY: u32;

const BLOCK_SIZE: u32 = 64;
const B_ADDRESS: usize = 0;
const B_SIZE: usize = 4;
const B_SITE: usize = 8;
const B_NEXT: usize = 12; // of a free block
const B_FLAGS: usize = 16;
const B_ZEROED_BY: usize = 20; // store key of the zeros that the block was handed out with
const B_BORN: usize = 24;
const B_FIRST: usize = 32;
const B_LAST: usize = 40;
const B_LOW: usize = 48;
const B_HIGH: usize = 52;
const LIVE: u32 = 4;
export const TOUCH_READ: u32 = 1;
export const TOUCH_WRITE: u32 = 2;
/** A reallocation has carried its bytes on to another block, or brought them here: read there, written here. */
const CARRIED_ON: u32 = 8;
const CARRIED_IN: u32 = 16;

/** Offsets of a site that are told apart; the last entry has what lies behind. */
const OFFSETS: u32 = 4096;
const COUNTS_SIZE: u32 = 20;
const HEADER: u32 = 128;
const SITE_SIZE: u32 = HEADER + (OFFSETS + 1) * COUNTS_SIZE;

const O_SITE: usize = 0;
const O_SIZE: usize = 4;
const O_OBJECTS: usize = 8;
const O_BYTES: usize = 16;
const O_DEAD: usize = 24;
const O_VARIES: usize = 32;
const O_SMALLEST: usize = 36;
const O_LIVE: usize = 40;
const O_PEAK: usize = 48;
const O_ENDED: usize = 56;
const O_USEFUL_LIFETIME: usize = 64; // f64: sum over ended blocks
const O_TOUCHED: usize = 72; // bytes touched in ended blocks that were both read and written
const O_SPAN: usize = 80;
const O_LIFETIME: usize = 88; // sum of lifetimes of ended blocks, accesses

const READS: u32 = 0;
const WRITES: u32 = 4;
const OVERWRITTEN: u32 = 8;
const DEALLOCATED: u32 = 12;
const SILENT: u32 = 16;

@inline function siteAt(index: u32): usize { return SITES + index * SITE_SIZE; }
@inline function blockAt(block: u32): usize { return BLOCKS + block * BLOCK_SIZE; }
@inline function add(at: usize, by: u64): void { store<u64>(at, load<u64>(at) + by); }

/** One more access. Times are the number of accesses before. */
@inline export function tick(): void { if (BLOCKS != 0) add(CONTROL + C_CLOCK, 1); }

/** The entry of an allocation site: linear search from a hash, as there are few. 0: the table is full. */
function entryOf(site: u32): u32 {
  const index: u32 = (site * 0x9e3779b1) >>> 16;
  for (let tries: u32 = 0; tries < SITE_CAPACITY; tries++) {
    const at: u32 = 1 + (index + tries) % (SITE_CAPACITY - 1);
    const found = load<u32>(siteAt(at), O_SITE);
    if (found == site) return at;
    if (found != 0) continue;
    store<u32>(siteAt(at), site, O_SITE);
    store<u32>(CONTROL, load<u32>(CONTROL, C_SITES_NEXT) + 1, C_SITES_NEXT);
    return at;
  }
  return 0;
}

/** `zeroedBy`: key of the store of zeros that comes with the block, 0: none. */
export function blockAllocated(address: u32, size: u32, zeroedBy: u32): void {
  if (BLOCKS == 0 || size == 0) return;
  const site = entryOf(allocationKey());
  let block = load<u32>(CONTROL, C_BLOCK_FREE);
  if (block != 0) store<u32>(CONTROL, load<u32>(blockAt(block), B_NEXT), C_BLOCK_FREE);
  else {
    block = load<u32>(CONTROL, C_BLOCK_NEXT) + 1;
    if (block >= BLOCK_CAPACITY) return;
    store<u32>(CONTROL, block, C_BLOCK_NEXT);
  }
  const at = blockAt(block);
  store<u32>(at, address, B_ADDRESS);
  store<u32>(at, size, B_SIZE);
  store<u32>(at, site, B_SITE);
  store<u32>(at, LIVE, B_FLAGS);
  store<u32>(at, zeroedBy, B_ZEROED_BY);
  store<u64>(at, load<u64>(CONTROL, C_CLOCK), B_BORN);
  store<u32>(at, 0xffffffff, B_LOW);
  store<u32>(at, 0, B_HIGH);
  const end = (address + size - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), block);
  const entry = siteAt(site);
  add(entry + O_OBJECTS, 1);
  add(entry + O_BYTES, size);
  add(entry + O_LIVE, size);
  store<u64>(entry, max(load<u64>(entry, O_PEAK), load<u64>(entry, O_LIVE)), O_PEAK);
  const before = load<u32>(entry, O_SIZE);
  if (before == 0) {
    store<u32>(entry, size, O_SIZE);
    store<u32>(entry, size, O_SMALLEST);
  } else if (before != size) {
    store<u32>(entry, 1, O_VARIES);
    store<u32>(entry, max(before, size), O_SIZE);
    store<u32>(entry, min(load<u32>(entry, O_SMALLEST), size), O_SMALLEST);
  }
}

/** Comes before the state of its bytes is forgotten. */
export function blockReleased(address: u32): void {
  if (BLOCKS == 0) return;
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block == 0) return;
  const at = blockAt(block);
  if (load<u32>(at, B_ADDRESS) != address) return;
  const size = load<u32>(at, B_SIZE);
  const end = (address + size - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), 0);
  const entry = siteAt(load<u32>(at, B_SITE));
  store<u64>(entry, load<u64>(entry, O_LIVE) - size, O_LIVE);
  add(entry + O_ENDED, 1);
  const born = load<u64>(at, B_BORN);
  const lifetime = load<u64>(CONTROL, C_CLOCK) - born;
  add(entry + O_LIFETIME, lifetime);
  const flags = load<u32>(at, B_FLAGS);
  if ((flags & (TOUCH_READ | TOUCH_WRITE)) != 0 && lifetime != 0) {
    const useful = <f64>(load<u64>(at, B_LAST) - load<u64>(at, B_FIRST)) / <f64>lifetime;
    store<f64>(entry, load<f64>(entry, O_USEFUL_LIFETIME) + useful, O_USEFUL_LIFETIME);
  }
  if ((flags & (TOUCH_READ | CARRIED_ON)) != 0 && (flags & (TOUCH_WRITE | CARRIED_IN)) != 0) {
    if ((flags & (TOUCH_READ | TOUCH_WRITE)) != 0) add(entry + O_SPAN, load<u32>(at, B_HIGH) - load<u32>(at, B_LOW));
    const zeroedBy = load<u32>(at, B_ZEROED_BY);
    let touched: u32 = 0;
    for (let i: u32 = 0; i < size; i++) if (isTouched(address + i, zeroedBy)) touched++;
    add(entry + O_TOUCHED, touched);
  }
  store<u32>(at, 0, B_FLAGS);
  store<u32>(at, load<u32>(CONTROL, C_BLOCK_FREE), B_NEXT);
  store<u32>(CONTROL, block, C_BLOCK_FREE);
}

/** The flags of the block that begins at an address, null: there is none. */
function flagsAt(address: u32): usize {
  if (BLOCKS == 0) return 0;
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  return block == 0 || load<u32>(blockAt(block), B_ADDRESS) != address ? 0 : blockAt(block) + B_FLAGS;
}

/** A reallocation carries bytes of the block on. Comes before its release. True if they were ever written. */
export function blockCarriedOn(address: u32): bool {
  const at = flagsAt(address);
  if (at == 0) return false;
  const flags = load<u32>(at);
  store<u32>(at, flags | CARRIED_ON);
  return (flags & (TOUCH_WRITE | CARRIED_IN)) != 0;
}

/** They are in this block now. */
export function blockCarriedIn(address: u32): void {
  const at = flagsAt(address);
  if (at != 0) store<u32>(at, load<u32>(at) | CARRIED_IN);
}

/** Whether anybody read or wrote the byte since its block was handed out. */
function isTouched(address: u32, zeroedBy: u32): bool {
  if (readerAt(address) != 0) return true;
  const word = wordAt(address);
  const state = stateOf(word);
  return state != INVALID && isReal(word & KEY) && (state != UNREAD || (word & KEY) != zeroedBy);
}

/** An access begins at `address`. */
@inline export function blockAccessed(address: u32, size: u32, kind: u32): void {
  if (BLOCKS != 0 && size != 0) touchBlock(address, size, kind);
}

function touchBlock(address: u32, size: u32, kind: u32): void {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block == 0) return;
  const at = blockAt(block);
  const offset = address - load<u32>(at, B_ADDRESS);
  if (offset >= load<u32>(at, B_SIZE)) return;
  const flags = load<u32>(at, B_FLAGS);
  // `tick` came before.
  const now = load<u64>(CONTROL, C_CLOCK) - 1;
  if ((flags & (TOUCH_READ | TOUCH_WRITE)) == 0) store<u64>(at, now, B_FIRST);
  store<u64>(at, now, B_LAST);
  store<u32>(at, flags | kind, B_FLAGS);
  store<u32>(at, min(load<u32>(at, B_LOW), offset), B_LOW);
  store<u32>(at, max(load<u32>(at, B_HIGH), min(offset + size, load<u32>(at, B_SIZE))), B_HIGH);
}

/** Adds to a count of the offset at which `address` lies in its block. */
@inline function count(address: u32, which: u32): void {
  if (BLOCKS != 0) countField(address, which);
}

/** The site's entry, 0 where no block is. */
function countField(address: u32, which: u32): u32 {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block == 0) return 0;
  const at = blockAt(block);
  const offset = address - load<u32>(at, B_ADDRESS);
  if (offset >= load<u32>(at, B_SIZE)) return 0;
  const site = load<u32>(at, B_SITE);
  const entry = siteAt(site);
  const counts: usize = entry + HEADER + min(offset, OFFSETS) * COUNTS_SIZE + which;
  const value = load<u32>(counts) + 1;
  if (value != 0) store<u32>(counts, value);
  return site;
}

/**
 * As `count` for up to 8 bytes that have one fate. Returns the site's entry if all of them are in one block, 0 if none is in any;
 * otherwise nothing is done, and `NO_BATCH` says so.
 */
function countFields(address: u32, size: u32, which: u32): u32 {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block != load<u32>(BLOCK_OF + (((address + size - 1) >>> 3) << 2))) return NO_BATCH;
  if (block == 0) return 0;
  const at = blockAt(block);
  const offset = address - load<u32>(at, B_ADDRESS);
  // Behind the offsets that are told apart, bytes have one entry.
  if (offset + size > load<u32>(at, B_SIZE) || offset + size > OFFSETS) return NO_BATCH;
  const site = load<u32>(at, B_SITE);
  let counts: usize = siteAt(site) + HEADER + offset * COUNTS_SIZE + which;
  for (let i: u32 = 0; i < size; i++) {
    const value = load<u32>(counts) + 1;
    if (value != 0) store<u32>(counts, value);
    counts += COUNTS_SIZE;
  }
  return site;
}

const NO_BATCH: u32 = 0xffffffff;

/** As `fieldRead`, `fieldWritten` and so on for up to 8 bytes. */
@inline export function fieldsRead(address: u32, size: u32): void {
  if (BLOCKS != 0 && countFields(address, size, READS) == NO_BATCH) for (let i: u32 = 0; i < size; i++) countField(address + i, READS);
}
@inline export function fieldsWritten(address: u32, size: u32): void {
  if (BLOCKS != 0 && countFields(address, size, WRITES) == NO_BATCH) for (let i: u32 = 0; i < size; i++) countField(address + i, WRITES);
}
@inline export function fieldsSilent(address: u32, size: u32): void {
  if (BLOCKS != 0 && countFields(address, size, SILENT) == NO_BATCH) for (let i: u32 = 0; i < size; i++) countField(address + i, SILENT);
}
@inline export function fieldsOverwritten(address: u32, size: u32, writer: u32): void {
  if (BLOCKS != 0) countAllDead(address, size, writer);
}

function countAllDead(address: u32, size: u32, writer: u32): void {
  const site = countFields(address, size, OVERWRITTEN);
  if (site == NO_BATCH) {
    for (let i: u32 = 0; i < size; i++) countDead(address + i, OVERWRITTEN, writer);
  } else if (site != 0) {
    add(siteAt(site) + O_DEAD, size);
    addPair(PAIR_INTO, writer, site, size);
  }
}

/** The byte is dead; `writer` is the key of its store. */
function countDead(address: u32, which: u32, writer: u32): void {
  const site = countField(address, which);
  if (site == 0) return;
  add(siteAt(site) + O_DEAD, 1);
  addPair(PAIR_INTO, writer, site, 1);
}

@inline export function fieldRead(address: u32): void { count(address, READS); }
@inline export function fieldWritten(address: u32): void { count(address, WRITES); }
@inline export function fieldOverwritten(address: u32, writer: u32): void {
  if (BLOCKS != 0) countDead(address, OVERWRITTEN, writer);
}
@inline export function fieldDeallocated(address: u32, writer: u32): void {
  if (BLOCKS != 0) countDead(address, DEALLOCATED, writer);
}
@inline export function fieldSilent(address: u32): void { count(address, SILENT); }
