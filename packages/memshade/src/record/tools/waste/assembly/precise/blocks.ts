// Blocks and frames in precise mode: which memory becomes valid, and which ends.
import {
  CONTROL,
  READERS,
  REALLOC_FORGETS,
  readersCopy,
  readersLoad128,
  readersStore128,
  SEEN,
  WRITERS,
  writersCopy,
  writersFill,
  writersLoad128,
  writersStore128,
} from "../imports";
import { Control, GREW, MOVED, Pair, Store } from "../layout.generated";
import {
  keepSize,
  LARGEST_FRAME,
  markDirty,
  notePages,
  siteOfZeros,
  takeBlockSize,
  takeSize,
} from "../memory";
import { zeroed } from "./accesses";
import { allocationKey, askingKey, returnKey, storeKey } from "./contexts";
import {
  blockAllocated,
  blockCarriedIn,
  blockCarriedOn,
  blockReleased,
  fieldDeallocated,
  fieldRead,
} from "./objects";
import {
  addPair,
  beginOperation,
  bump,
  INVALID,
  isReal,
  KEY,
  outside,
  setReader,
  setWord,
  stateOf,
  storeRecord,
  UNREAD,
  wordAt,
} from "./state";

const GROUP: u32 = 4;

/** Ends a group of bytes if no writer must be charged: all were read, or invalid before. Returns false otherwise. */
@inline
function endGroup(address: u32): bool {
  const at: u32 = WRITERS + (address << 2);
  const words = writersLoad128(at);
  // The state of unread bytes has no sign bit.
  if (i32x4.bitmask(words) !== 15) return false;
  const gone = i32x4.splat(INVALID);
  if (v128.any_true(v128.xor(words, gone))) writersStore128(at, gone);
  const readers: u32 = READERS + (address << 2);
  if (v128.any_true(readersLoad128(readers))) readersStore128(readers, i32x4.splat(0));
  return true;
}

/** Ends the memory. Bytes that were not read are charged to their writers, and paired with the site that ended them. */
function invalidate(address: u32, size: u32, reason: u32): void {
  beginOperation();
  let ended: u32 = 0;
  let writer: u32 = 0;
  let bytes: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    while (size - i >= GROUP && endGroup(address + i)) i += GROUP;
    if (i === size) break;
    const at = address + i;
    const word = wordAt(at);
    const key = word & KEY;
    if (stateOf(word) === UNREAD && isReal(key)) {
      bump(storeRecord(key) + Store.deallocated, 1);
      fieldDeallocated(at, key);
      if (ended === 0) ended = reason === Pair.returned ? returnKey() : allocationKey();
      if (key !== writer && bytes !== 0) {
        addPair(reason, writer, ended, bytes);
        bytes = 0;
      }
      writer = key;
      bytes++;
    }
    setWord(at, INVALID);
    setReader(at, 0);
  }
  if (bytes !== 0) addPair(reason, writer, ended, bytes);
}

/** Records a new block. `zeroedBy` is the store site of its zeros if the call that asked for them is unknown. */
export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  notePages();
  const site = siteOfZeros(zeroedBy);
  if (address === 0 || outside(address, size)) return;
  invalidate(address, size, Pair.deallocated);
  keepSize(address, size);
  // The block's zeros are recorded first, since they are no access to the block.
  if (site !== 0) zeroed(address, size, site);
  blockAllocated(address, size, site === 0 ? 0 : storeKey(site));
  store<u32>(CONTROL, 0, Control.allocationSite);
}

export function released(address: u32): void {
  const sizePlusOne = takeSize(address);
  if (sizePlusOne !== 0) releaseBlock(address, sizePlusOne - 1);
  store<u32>(CONTROL, 0, Control.allocationSite);
}

function releaseBlock(address: u32, size: u32): void {
  chargeBlock(address, size);
  blockReleased(address);
  invalidate(address, size, Pair.deallocated);
}

/** Counts dead bytes per offset while their block is still known. */
function chargeBlock(address: u32, size: u32): void {
  for (let i: u32 = 0; i < size; i++) {
    const word = wordAt(address + i);
    if (stateOf(word) === UNREAD && isReal(word & KEY)) fieldDeallocated(address + i, word & KEY);
  }
}

export function reallocated(old: u32, address: u32, size: u32): void {
  notePages();
  if (old === 0) {
    allocated(address, size, 0);
    return;
  }
  if (address === 0) {
    if (size === 0) released(old);
    return;
  }
  if (outside(address, size)) return;
  const before = takeBlockSize(old);
  const keptBytes = min(before, size);
  const place = askingKey();
  beginOperation();
  addPair(Pair.reallocated, place, GREW, size - keptBytes);
  if (address !== old && keptBytes !== 0) addPair(Pair.reallocated, place, MOVED, keptBytes);
  // Moving bytes reads them.
  for (let i: u32 = 0; i < keptBytes; i++) if (stateOf(wordAt(old + i)) === UNREAD) fieldRead(old + i);
  if (before > keptBytes) chargeBlock(old + keptBytes, before - keptBytes);
  const carries = keptBytes !== 0 && blockCarriedOn(old);
  blockReleased(old);
  if (address === old) {
    if (size < before) invalidate(address + size, before - size, Pair.deallocated);
    else if (size > before) invalidate(address + before, size - before, Pair.deallocated);
  } else {
    invalidate(address, size, Pair.deallocated);
    markDirty(address, size);
    if (REALLOC_FORGETS === 0) {
      writersCopy(WRITERS + (address << 2), WRITERS + (old << 2), keptBytes << 2);
      readersCopy(READERS + (address << 2), READERS + (old << 2), keptBytes << 2);
      memory.copy(SEEN + address, SEEN + old, keptBytes);
      writersFill(WRITERS + (old << 2), 0, keptBytes << 2);
    }
    invalidate(old, before, Pair.deallocated);
  }
  blockAllocated(address, size, 0);
  if (carries) blockCarriedIn(address);
  keepSize(address, size);
  store<u32>(CONTROL, 0, Control.allocationSite);
}

export function stackMoved(from: u32, to: u32): void {
  const low = min(from, to);
  const size = max(from, to) - low;
  if (size === 0 || size > LARGEST_FRAME || outside(low, size)) return;
  invalidate(low, size, Pair.returned);
}
