// Ids of stores. A store is assigned an id when it first needs one. Far fewer stores run than a module has, above all
// in contexts, so 16 bits are enough for nearly all programs. A key stands for a record: it is the record's distance
// from STORES, in units of the record's size or, in frames, of 8 bytes.
//
// A table has the id of each store four times, or zero; in frames the id precedes the record. Another table has the
// record of each id. When all ids are assigned, ids that no shadow word contains are taken back. If that does not free
// enough, bytes of stores without an id *overflow*. Their shadow words show only that, and a table with a word per byte
// has the store's key. Code that needs the writers of a range must resolve the overflowed bytes first.
import {
  CONTROL,
  COVERED,
  FRAMED,
  STORE_IDS,
  INIT,
  INVALID,
  LAST_ID,
  READS,
  RECORD_OF,
  RECORD_SHIFT,
  OVERFLOW,
  STORES,
  WRITERS,
  writersCopy,
  writersLoad,
  writersStore,
} from "../imports";
import { Control, STORE_IDS_BYTES, Store } from "../layout.generated";
import { notePages } from "../memory";

const IDS: u32 = 0x10000;
const LOWEST: u64 = 0x0001000100010001;
const NONE: u32 = 0;
/** If fewer ids than this were freed, taking back is not tried again soon. */
const FEW: u32 = 4096;
/** Bytes of memory per store that must go without an id before ids are taken back again. */
const BYTES_PER_OVERFLOW: u32 = 256;

/** Number of ids that were tried so far. Globals of the runtime must begin with constants. */
let tried: u32 = 0;
let overflows: bool = false;
let patience: u32 = 0;

@inline
export function storeRecord(key: u32): usize {
  return STORES + (key << RECORD_SHIFT);
}
/**
 * Returns the record's address from the name that inline code has of a store: in frames the address itself, else a key.
 */
@inline
export function recordOfStore(site: u32): usize {
  return FRAMED !== 0 ? site : storeRecord(site);
}
@inline
function idsOf(record: usize): usize {
  return FRAMED !== 0
    ? record - STORE_IDS_BYTES
    : STORE_IDS + ((record - STORES) >>> RECORD_SHIFT) * STORE_IDS_BYTES;
}
@inline
export function recordOf(id: u32): usize {
  return STORES + load<u32>(RECORD_OF + (id << 2));
}
@inline
export function readsOf(id: u32): usize {
  return READS + (id << 3);
}
@inline
export function isNone(id: u32): bool {
  return id === NONE;
}
@inline
export function isAssigned(id: u32): bool {
  return id - (INIT + 1) < LAST_ID - INIT;
}

@inline
export function idOfKey(key: u32): u32 {
  const record = storeRecord(key);
  const ids = load<u64>(idsOf(record));
  return <u32>((ids !== 0 ? ids : assign(record)) & 0xffff);
}

/** Assigns an id to a record that has none. Returns it four times; 0 if none is left. */
function assign(record: usize): u64 {
  let id = takeNext();
  if (id === NONE) {
    if (patience !== 0) {
      patience--;
      return 0;
    }
    takeBack();
    id = takeNext();
    if (id === NONE) return 0;
  }
  store<u32>(RECORD_OF + (id << 2), <u32>record - STORES);
  const ids = <u64>id * LOWEST;
  store<u64>(idsOf(record), ids);
  return ids;
}

function takeNext(): u32 {
  while (INIT + tried < LAST_ID) {
    const id = INIT + ++tried;
    if (load<u32>(RECORD_OF + (id << 2)) === 0) return id;
  }
  return NONE;
}

function takeBack(): void {
  notePages();
  const bytes = <u32>min<u64>((<u64>load<u32>(CONTROL, Control.pages)) << 16, COVERED);
  const isUsed: usize = RECORD_OF + (IDS << 2);
  memory.fill(isUsed, 0, IDS);
  const end: usize = bytes << 1;
  for (let at: usize = 0; at !== end; at += 8) {
    let ids = load<u64>(at);
    if (ids === -1 || ids === 0 || ids === <u64>INVALID * LOWEST) continue;
    for (let i = 0; i < 4; i++, ids >>>= 16) store<u8>(isUsed + <usize>(ids & 0xffff), 1);
  }
  let free: u32 = 0;
  for (let id = INIT + 1; id <= LAST_ID; id++) {
    if (load<u8>(isUsed + id) !== 0) continue;
    const record = load<u32>(RECORD_OF + (id << 2));
    if (record !== 0) {
      store<u64>(idsOf(STORES + record), 0);
      const reads = readsOf(id);
      store<u64>(STORES + record, load<u64>(STORES + record, Store.read) + load<u64>(reads), Store.read);
      store<u64>(reads, 0);
    }
    store<u32>(RECORD_OF + (id << 2), 0);
    free++;
  }
  overflows = load<u16>(isUsed + OVERFLOW) !== 0;
  tried = 0;
  patience = free < FEW ? bytes / BYTES_PER_OVERFLOW : 0;
}

/**
 * Assigns an id to a store of `size` bytes that has none. Returns the words with which its caller fills the shadow
 * memory.
 */
export function assigned(address: u32, size: u32, site: u32): u64 {
  const record = recordOfStore(site);
  const ids = assign(record);
  if (ids !== 0) return ids;
  noteOverflow(address, size, <u32>(record - STORES) >>> RECORD_SHIFT);
  return (<u64>overflowAt(address) * LOWEST) ^ 0x0001000000010000;
}

@inline
function overflowAt(address: u32): u32 {
  return OVERFLOW | (address & 1);
}
@inline
function hasOverflowed(address: u32): bool {
  return (load<u16>(address << 1) | 1) === (OVERFLOW | 1);
}

function noteOverflow(address: u32, size: u32, key: u32): void {
  overflows = true;
  for (let i = address; i !== address + size; i++) writersStore(WRITERS + (i << 2), key);
}

export function overflow(address: u32, size: u32, key: u32): void {
  noteOverflow(address, size, key);
  for (let i = address; i !== address + size; i++) store<u16>(i << 1, <u16>overflowAt(i));
}

@inline
export function resolveOverflow(address: u32, size: u32, field: usize): void {
  if (overflows) resolve(address, size, field);
}

function resolve(address: u32, size: u32, field: usize): void {
  const lowestBits = i16x8.splat(1);
  const overflowed = i16x8.splat(<i16>(OVERFLOW | 1));
  const end = address + size;
  while (address !== end) {
    if (
      end - address >= 8 &&
      !v128.any_true(i16x8.eq(v128.or(v128.load(address << 1), lowestBits), overflowed))
    ) {
      address += 8;
      continue;
    }
    if (hasOverflowed(address)) {
      const at = storeRecord(writersLoad(WRITERS + (address << 2))) + field;
      store<u64>(at, load<u64>(at) + 1);
      store<u16>(address << 1, <u16>INIT);
    }
    address++;
  }
}

export function moveOverflow(to: u32, from: u32, size: u32): void {
  if (!overflows) return;
  writersCopy(WRITERS + (to << 2), WRITERS + (from << 2), size << 2);
  for (let i = to; i !== to + size; i++) if (hasOverflowed(i)) store<u16>(i << 1, <u16>overflowAt(i));
}
