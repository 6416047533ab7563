// Blocks of the heap by allocation site, and what happens to each offset of them. Only where objects are asked for.
//
//   BLOCK_OF   u32 per 8 bytes of program memory: number of the block that holds them, 0 for none
//   BLOCKS     per block {address, size, site, next free}
//   FIELDS     per site a header {objects u64, bytes u64, size u32 (0: varies), first use} and counts per offset
import { C_ALLOCATION_SITE, C_BLOCK_FREE, C_BLOCK_NEXT, C_SITES_NEXT, CONTROL } from "./layout";

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

const BLOCK_SIZE: u32 = 16;
/** Offsets of a site that are told apart; what lies behind goes to the last one. */
const OFFSETS: u32 = 1024;
const COUNTS_SIZE: u32 = 16;
const HEADER: u32 = 64;
const SITE_SIZE: u32 = HEADER + OFFSETS * COUNTS_SIZE;

const O_SITE: usize = 0;
const O_SIZE: usize = 4;
const O_OBJECTS: usize = 8;
const O_BYTES: usize = 16;
const O_DEAD: usize = 24;
const O_VARIES: usize = 32;

@inline function siteAt(index: u32): usize { return SITES + index * SITE_SIZE; }

/** The entry of an allocation site: linear search from a hash, as there are few. 0: the table is full. */
function entryOf(site: u32): u32 {
  let index: u32 = (site * 0x9e3779b1) >>> 16;
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

export function blockAllocated(address: u32, size: u32): void {
  if (BLOCKS == 0 || size == 0) return;
  const site = entryOf(load<u32>(CONTROL, C_ALLOCATION_SITE) + 1);
  let block = load<u32>(CONTROL, C_BLOCK_FREE);
  if (block != 0) store<u32>(CONTROL, load<u32>(BLOCKS + block * BLOCK_SIZE, 12), C_BLOCK_FREE);
  else {
    block = load<u32>(CONTROL, C_BLOCK_NEXT) + 1;
    if (block >= BLOCK_CAPACITY) return;
    store<u32>(CONTROL, block, C_BLOCK_NEXT);
  }
  const at: usize = BLOCKS + block * BLOCK_SIZE;
  store<u32>(at, address);
  store<u32>(at, size, 4);
  store<u32>(at, site, 8);
  const end = (address + size - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), block);
  const entry = siteAt(site);
  store<u64>(entry, load<u64>(entry, O_OBJECTS) + 1, O_OBJECTS);
  store<u64>(entry, load<u64>(entry, O_BYTES) + size, O_BYTES);
  const before = load<u32>(entry, O_SIZE);
  if (before == 0) store<u32>(entry, size, O_SIZE);
  else if (before != size) {
    store<u32>(entry, 1, O_VARIES);
    store<u32>(entry, max(before, size), O_SIZE);
  }
}

export function blockReleased(address: u32): void {
  if (BLOCKS == 0) return;
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block == 0) return;
  const at: usize = BLOCKS + block * BLOCK_SIZE;
  if (load<u32>(at) != address) return;
  const end = (address + load<u32>(at, 4) - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), 0);
  store<u32>(at, load<u32>(CONTROL, C_BLOCK_FREE), 12);
  store<u32>(CONTROL, block, C_BLOCK_FREE);
}

/** Adds to a count of the offset at which `address` lies in its block: 0 reads, 4 writes, 8 dead, 12 silent. */
@inline function count(address: u32, which: u32): void {
  if (BLOCKS == 0) return;
  countField(address, which);
}

function countField(address: u32, which: u32): void {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block == 0) return;
  const at: usize = BLOCKS + block * BLOCK_SIZE;
  const offset = address - load<u32>(at);
  if (offset >= load<u32>(at, 4)) return;
  const entry = siteAt(load<u32>(at, 8));
  const counts: usize = entry + HEADER + min(offset, OFFSETS - 1) * COUNTS_SIZE + which;
  const value = load<u32>(counts) + 1;
  if (value != 0) store<u32>(counts, value);
  if (which == 8) store<u64>(entry, load<u64>(entry, O_DEAD) + 1, O_DEAD);
}

@inline export function fieldRead(address: u32): void { count(address, 0); }
@inline export function fieldWritten(address: u32): void { count(address, 4); }
@inline export function fieldDead(address: u32): void { count(address, 8); }
@inline export function fieldSilent(address: u32): void { count(address, 12); }
