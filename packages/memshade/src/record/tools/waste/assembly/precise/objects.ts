// Heap blocks by allocation site, and the accesses to each of their offsets. Recorded only on request.
//
//  BLOCK_OF   u32 per 8 bytes of program memory: number of the block that holds them, 0 for none
//  BLOCKS     per block: address, size, site, next free or flags, times of its life, touched range
//  SITES      per site a header and counts per offset: reads, writes, overwritten, deallocated, silent
import { BLOCK_CAPACITY, BLOCK_OF, BLOCKS, CONTROL, SITE_CAPACITY, SITES } from "../imports";
import {
  BLOCK_BYTES,
  Block,
  BlockFlag,
  Control,
  OBJECT_SITE_BYTES,
  OBJECT_SITE_HEADER_BYTES,
  ObjectSite,
  OFFSET_BYTES,
  OFFSETS,
  OffsetCount,
  Pair,
} from "../layout.generated";
import { askingKey } from "./contexts";
import { addPair, INVALID, isReal, KEY, readerAt, stateOf, UNREAD, wordAt } from "./state";

@inline
function siteAt(index: u32): usize {
  return SITES + index * OBJECT_SITE_BYTES;
}
@inline
function blockAt(block: u32): usize {
  return BLOCKS + block * BLOCK_BYTES;
}
@inline
function add(at: usize, by: u64): void {
  store<u64>(at, load<u64>(at) + by);
}

@inline
export function tick(): void {
  if (BLOCKS !== 0) add(CONTROL + Control.clock, 1);
}

/**
 * Returns the entry of an allocation site; 0 if the table is full. Searches linearly from a hash, since sites are few.
 */
function entryOf(site: u32): u32 {
  const index: u32 = (site * 0x9e3779b1) >>> 16;
  for (let tries: u32 = 0; tries < SITE_CAPACITY; tries++) {
    const at: u32 = 1 + ((index + tries) % (SITE_CAPACITY - 1));
    const found = load<u32>(siteAt(at), ObjectSite.site);
    if (found === site) return at;
    if (found !== 0) continue;
    store<u32>(siteAt(at), site, ObjectSite.site);
    store<u32>(CONTROL, load<u32>(CONTROL, Control.sitesNext) + 1, Control.sitesNext);
    return at;
  }
  return 0;
}

/** Records a new block. `zeroedBy` is the key of the store of its zeros, 0: none. */
export function blockAllocated(address: u32, size: u32, zeroedBy: u32): void {
  if (BLOCKS === 0 || size === 0) return;
  const site = entryOf(askingKey());
  let block = load<u32>(CONTROL, Control.blockFree);
  if (block !== 0) store<u32>(CONTROL, load<u32>(blockAt(block), Block.next), Control.blockFree);
  else {
    block = load<u32>(CONTROL, Control.blockNext) + 1;
    if (block >= BLOCK_CAPACITY) return;
    store<u32>(CONTROL, block, Control.blockNext);
  }
  const at = blockAt(block);
  store<u32>(at, address, Block.address);
  store<u32>(at, size, Block.size);
  store<u32>(at, site, Block.site);
  store<u32>(at, BlockFlag.live, Block.flags);
  store<u32>(at, zeroedBy, Block.zeroedBy);
  store<u64>(at, load<u64>(CONTROL, Control.clock), Block.born);
  store<u32>(at, 0xffffffff, Block.low);
  store<u32>(at, 0, Block.high);
  const end = (address + size - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), block);
  const entry = siteAt(site);
  add(entry + ObjectSite.objects, 1);
  add(entry + ObjectSite.bytes, size);
  add(entry + ObjectSite.live, size);
  store<u64>(
    entry,
    max(load<u64>(entry, ObjectSite.peak), load<u64>(entry, ObjectSite.live)),
    ObjectSite.peak,
  );
  const before = load<u32>(entry, ObjectSite.size);
  if (before === 0) {
    store<u32>(entry, size, ObjectSite.size);
    store<u32>(entry, size, ObjectSite.smallest);
  } else if (before !== size) {
    store<u32>(entry, 1, ObjectSite.varies);
    store<u32>(entry, max(before, size), ObjectSite.size);
    store<u32>(entry, min(load<u32>(entry, ObjectSite.smallest), size), ObjectSite.smallest);
  }
}

/** Removes a block. Must be called before the state of its bytes is reset. */
export function blockReleased(address: u32): void {
  if (BLOCKS === 0) return;
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block === 0) return;
  const at = blockAt(block);
  if (load<u32>(at, Block.address) !== address) return;
  const size = load<u32>(at, Block.size);
  const end = (address + size - 1) >>> 3;
  for (let granule = address >>> 3; granule <= end; granule++) store<u32>(BLOCK_OF + (granule << 2), 0);
  const entry = siteAt(load<u32>(at, Block.site));
  store<u64>(entry, load<u64>(entry, ObjectSite.live) - size, ObjectSite.live);
  add(entry + ObjectSite.ended, 1);
  const born = load<u64>(at, Block.born);
  const lifetime = load<u64>(CONTROL, Control.clock) - born;
  add(entry + ObjectSite.lifetime, lifetime);
  const flags = load<u32>(at, Block.flags);
  if ((flags & (BlockFlag.read | BlockFlag.written)) !== 0 && lifetime !== 0) {
    const useful = <f64>(load<u64>(at, Block.last) - load<u64>(at, Block.first)) / <f64>lifetime;
    store<f64>(entry, load<f64>(entry, ObjectSite.usefulLifetime) + useful, ObjectSite.usefulLifetime);
  }
  if (
    (flags & (BlockFlag.read | BlockFlag.carriedOn)) !== 0 &&
    (flags & (BlockFlag.written | BlockFlag.carriedIn)) !== 0
  ) {
    if ((flags & (BlockFlag.read | BlockFlag.written)) !== 0)
      add(entry + ObjectSite.span, load<u32>(at, Block.high) - load<u32>(at, Block.low));
    const zeroedBy = load<u32>(at, Block.zeroedBy);
    let touched: u32 = 0;
    for (let i: u32 = 0; i < size; i++) if (isTouched(address + i, zeroedBy)) touched++;
    add(entry + ObjectSite.touched, touched);
  }
  store<u32>(at, 0, Block.flags);
  store<u32>(at, load<u32>(CONTROL, Control.blockFree), Block.next);
  store<u32>(CONTROL, block, Control.blockFree);
}

/** Returns the address of the flags of the block that begins at an address; 0 if there is none. */
function flagsAt(address: u32): usize {
  if (BLOCKS === 0) return 0;
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  return block === 0 || load<u32>(blockAt(block), Block.address) !== address
    ? 0
    : blockAt(block) + Block.flags;
}

/**
 * Records that a reallocation moves bytes of the block. Must be called before its release. Returns true if they were
 * ever written.
 */
export function blockCarriedOn(address: u32): bool {
  const at = flagsAt(address);
  if (at === 0) return false;
  const flags = load<u32>(at);
  store<u32>(at, flags | BlockFlag.carriedOn);
  return (flags & (BlockFlag.written | BlockFlag.carriedIn)) !== 0;
}

export function blockCarriedIn(address: u32): void {
  const at = flagsAt(address);
  if (at !== 0) store<u32>(at, load<u32>(at) | BlockFlag.carriedIn);
}

function isTouched(address: u32, zeroedBy: u32): bool {
  if (readerAt(address) !== 0) return true;
  const word = wordAt(address);
  const state = stateOf(word);
  return state !== INVALID && isReal(word & KEY) && (state !== UNREAD || (word & KEY) !== zeroedBy);
}

@inline
export function blockAccessed(address: u32, size: u32, kind: u32): void {
  if (BLOCKS !== 0 && size !== 0) touchBlock(address, size, kind);
}

function touchBlock(address: u32, size: u32, kind: u32): void {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block === 0) return;
  const at = blockAt(block);
  const offset = address - load<u32>(at, Block.address);
  if (offset >= load<u32>(at, Block.size)) return;
  const flags = load<u32>(at, Block.flags);
  // `tick` has counted this access already.
  const now = load<u64>(CONTROL, Control.clock) - 1;
  if ((flags & (BlockFlag.read | BlockFlag.written)) === 0) store<u64>(at, now, Block.first);
  store<u64>(at, now, Block.last);
  store<u32>(at, flags | kind, Block.flags);
  store<u32>(at, min(load<u32>(at, Block.low), offset), Block.low);
  store<u32>(at, max(load<u32>(at, Block.high), min(offset + size, load<u32>(at, Block.size))), Block.high);
}

/**
 * Pairs a load or store of `key` with the block at `address`. `kind` is `Pair.readsFrom` or `Pair.writesInto`. Its
 * operation has begun.
 */
@inline
export function blockAccessedBy(address: u32, size: u32, key: u32, kind: u32): void {
  if (BLOCKS !== 0 && size !== 0) pairWithSite(address, size, key, kind);
}

function pairWithSite(address: u32, size: u32, key: u32, kind: u32): void {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block === 0) return;
  const at = blockAt(block);
  const offset = address - load<u32>(at, Block.address);
  const length = load<u32>(at, Block.size);
  if (offset < length) addPair(kind, key, load<u32>(at, Block.site), min(size, length - offset));
}

@inline
function count(address: u32, column: u32): void {
  if (BLOCKS !== 0) countField(address, column);
}

/** Adds one to the count and returns the site's entry, 0 if no block is there. */
function countField(address: u32, column: u32): u32 {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block === 0) return 0;
  const at = blockAt(block);
  const offset = address - load<u32>(at, Block.address);
  if (offset >= load<u32>(at, Block.size)) return 0;
  const site = load<u32>(at, Block.site);
  const entry = siteAt(site);
  const counts: usize = entry + OBJECT_SITE_HEADER_BYTES + min(offset, OFFSETS) * OFFSET_BYTES + column;
  const value = load<u32>(counts) + 1;
  if (value !== 0) store<u32>(counts, value);
  return site;
}

/**
 * Does the work of `count` for up to 8 bytes with one fate. Returns the site's entry if one block has all of them, 0 if
 * no block has any. Otherwise counts nothing and returns `NO_BATCH`.
 */
function countFields(address: u32, size: u32, column: u32): u32 {
  const block = load<u32>(BLOCK_OF + ((address >>> 3) << 2));
  if (block !== load<u32>(BLOCK_OF + (((address + size - 1) >>> 3) << 2))) return NO_BATCH;
  if (block === 0) return 0;
  const at = blockAt(block);
  const offset = address - load<u32>(at, Block.address);
  // Offsets behind the last one that has counts share one entry.
  if (offset + size > load<u32>(at, Block.size) || offset + size > OFFSETS) return NO_BATCH;
  const site = load<u32>(at, Block.site);
  let counts: usize = siteAt(site) + OBJECT_SITE_HEADER_BYTES + offset * OFFSET_BYTES + column;
  for (let i: u32 = 0; i < size; i++) {
    const value = load<u32>(counts) + 1;
    if (value !== 0) store<u32>(counts, value);
    counts += OFFSET_BYTES;
  }
  return site;
}

const NO_BATCH: u32 = 0xffffffff;

/** Batch forms of `fieldRead`, `fieldWritten` and so on, for up to 8 bytes. */
@inline
export function fieldsRead(address: u32, size: u32): void {
  if (BLOCKS !== 0 && countFields(address, size, OffsetCount.reads) === NO_BATCH)
    for (let i: u32 = 0; i < size; i++) countField(address + i, OffsetCount.reads);
}
@inline
export function fieldsWritten(address: u32, size: u32): void {
  if (BLOCKS !== 0 && countFields(address, size, OffsetCount.writes) === NO_BATCH)
    for (let i: u32 = 0; i < size; i++) countField(address + i, OffsetCount.writes);
}
@inline
export function fieldsSilent(address: u32, size: u32): void {
  if (BLOCKS !== 0 && countFields(address, size, OffsetCount.silent) === NO_BATCH)
    for (let i: u32 = 0; i < size; i++) countField(address + i, OffsetCount.silent);
}
@inline
export function fieldsOverwritten(address: u32, size: u32, writer: u32): void {
  if (BLOCKS !== 0) countAllDead(address, size, writer);
}

function countAllDead(address: u32, size: u32, writer: u32): void {
  const site = countFields(address, size, OffsetCount.overwritten);
  if (site === NO_BATCH) {
    for (let i: u32 = 0; i < size; i++) countDead(address + i, OffsetCount.overwritten, writer);
  } else if (site !== 0) {
    add(siteAt(site) + ObjectSite.dead, size);
    addPair(Pair.into, writer, site, size);
  }
}

function countDead(address: u32, column: u32, writer: u32): void {
  const site = countField(address, column);
  if (site === 0) return;
  add(siteAt(site) + ObjectSite.dead, 1);
  addPair(Pair.into, writer, site, 1);
}

@inline
export function fieldRead(address: u32): void {
  count(address, OffsetCount.reads);
}
@inline
export function fieldWritten(address: u32): void {
  count(address, OffsetCount.writes);
}
@inline
export function fieldOverwritten(address: u32, writer: u32): void {
  if (BLOCKS !== 0) countDead(address, OffsetCount.overwritten, writer);
}
@inline
export function fieldDeallocated(address: u32, writer: u32): void {
  if (BLOCKS !== 0) countDead(address, OffsetCount.deallocated, writer);
}
@inline
export function fieldSilent(address: u32): void {
  count(address, OffsetCount.silent);
}
