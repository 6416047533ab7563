import {
  askAgain,
  counterOf,
  fourCounters,
  nextTouched,
  counterPlace,
  touchedEnd,
  untouchedBefore,
  wereTaken,
} from "./counter-memory";
import { CONTROL, COUNTED, EXACT, GROWTHS, MIBS, programLoad64 } from "./imports";
import {
  CONTEXT_BYTES,
  Control,
  GROWTH_BYTES,
  Growth,
  LARGEST_SMALL,
  LARGEST_UNMARKED,
  Record,
  WENT_ON,
} from "./layout.generated";
import { countMarks, lastMarked, SHORTEST_MARKED } from "./marks";
import { Address, addressOf, isReadable } from "./program";
import { recordAt } from "./live";
import { bump32, bump64 } from "./records";

// Recognizes blocks that grow: by a reallocation that moves them, or as vectors, strings and hash tables do.
// These allocate a larger block, copy, and release the old block.
// A reallocation is seen directly. For the second way, the release of a block is the moment of decision. Only
// one block can be the successor: the large block that began last, if it began after the ending block and is
// larger. It is the successor if one of these conditions holds:
// - It has the contents of the ending block: at least half of that block was used, both have the same bytes
// up to the last one used (except the last 8), and the bytes are not all alike. Strings, which are appended
// to at their end, and elements that are copied unchanged grow this way.
// - Nothing was allocated since, both blocks come from one context, and the program has accessed about as
// much of the new block as of the old one: some of it, and at most half of the additional room. Elements that
// are moved one by one, which empties the old ones, and hash tables, whose elements get new positions, grow
// this way.
// A buffer that is filled before its predecessor is released has no room left, and a buffer that is filled
// later is still empty; both are no successors.
// If realloc finds room behind a block, nothing is copied, by luck of the allocator. Such steps are counted
// apart.
// A chain is counted when it ends, in the context of its last block. Until then the block's record carries
// it.
// malloc 1000 → A, written up to 1000.
// malloc 2000 → B, A's 1000 bytes copied to B, A freed: 1 copy, 1000 bytes
// B written up to 2000. realloc B to 4000 moves it to C: 2 copies, 3000 bytes
// C written up to 2500, freed: a chain of 2 copies and 3000 bytes; at its end 2500 of 4000 bytes were used,
// 1500 were not.

/** Bytes of two blocks that are compared before the next part is checked for being readable. */
const PART_BYTES: u32 = 4096;

/**
 * Chain of the block that ended last: copies of its contents, steps in place, bytes copied, its size, and the
 * bytes used of it.
 */
let copies: u32 = 0;
let steps: u32 = 0;
let copiedBytes: u64 = 0;
let endedSize: u32 = 0;
let carried: u32 = 0;

@inline
export function growthOf(mib: usize): usize {
  return GROWTHS + (mib - MIBS) / (CONTEXT_BYTES / GROWTH_BYTES);
}

@inline
export function noteYoungest(record: usize): void {
  store<u32>(CONTROL, record, Control.youngest);
  store<u32>(CONTROL, load<u32>(CONTROL, Control.allocations), Control.youngestNumber);
}

@inline
export function forgetEnded(): void {
  copies = 0;
  steps = 0;
  copiedBytes = 0;
  carried = 0;
  endedSize = 0;
}

/**
 * Takes the chain from the record of an ending block. True if its contents were copied into another block
 * earlier.
 */
@inline
export function takeChain(record: usize): bool {
  copies = load<u32>(record, Record.copies);
  steps = load<u32>(record, Record.steps);
  carried = load<u32>(record, Record.carried);
  copiedBytes = load<u64>(record, Record.copiedBytes);
  if (load<u32>(CONTROL, Control.youngest) === record) store<u32>(CONTROL, 0, Control.youngest);
  return copies === WENT_ON;
}

/**
 * Returns the bytes of a block up to the end of the last granule that was accessed, as far as counters and
 * marks show it.
 */
export function usedBytes(address: Address, size: u32): u32 {
  if (COUNTED === 0) return size;
  if (wereTaken()) return 0;
  askAgain();
  const first = counterPlace(address);
  const end = counterPlace(address + size - 1) + 4;
  let last = end;
  while (last > first) {
    last = untouchedBefore(first, last);
    // Steps of 16 end at page starts, where `untouchedBefore` can skip whole pages.
    if ((last & 15) === 0 && last - first >= 16 && !v128.any_true(fourCounters(last - 16))) last -= 16;
    else if (last === first || counterOf(last - 4) !== 0) break;
    else last -= 4;
  }
  const before: i32 = (<u32>address >>> 3) - 1;
  let granule: i32 = before + <i32>((last - first) >>> 2);
  if (EXACT === 0 && size >= SHORTEST_MARKED)
    granule = lastMarked(granule, before + <i32>((end - first) >>> 2));
  return granule === before ? 0 : min(size, ((granule + 1) << 3) - <u32>address);
}

/**
 * Ends the block that `takeChain` was called for, before its counters are cleared.
 * `moved`: a reallocation ends it, and calls `continueChain` for the next block.
 */
export function endChain(address: Address, size: u32, mib: usize, start: u32, moved: bool): void {
  endedSize = size;
  carried = max(carried, usedBytes(address, size));
  if (moved) return;
  const youngest = load<u32>(CONTROL, Control.youngest);
  if (youngest !== 0 && goesOnIn(youngest, address, mib, start)) return;
  const growth = growthOf(mib);
  if (copies !== 0) {
    bump32(growth, Growth.chains, 1);
    bump32(growth, Growth.copies, copies);
    bump64(growth, Growth.copiedBytes, copiedBytes);
    bump64(growth, Growth.finalBytes, size);
    bump64(growth, Growth.usedBytes, carried);
    store<u32>(growth, max(load<u32>(growth, Growth.mostCopies), copies), Growth.mostCopies);
    store<u32>(growth, max(load<u32>(growth, Growth.largestFinal), size), Growth.largestFinal);
  }
  if (steps !== 0) {
    bump32(growth, Growth.steppedChains, 1);
    bump32(growth, Growth.steps, steps);
    bump64(growth, Growth.steppedBytes, carried);
  }
  if (COUNTED !== 0 && size > LARGEST_UNMARKED && carried !== 0) {
    bump64(growth, Growth.endedBytes, size);
    bump64(growth, Growth.unusedBytes, size - carried);
    bump32(growth, Growth.endedBlocks, 1);
  }
}

/**
 * Continues the chain of a reallocated block in the block at `address`.
 * `moved`: the new block is at another address.
 */
export function continueChain(address: Address, size: u32, moved: bool): void {
  if (endedSize === 0) return;
  if (size > endedSize) {
    if (moved) {
      copies++;
      copiedBytes += endedSize;
    } else {
      steps++;
    }
  }
  carried = min(carried, size);
  if ((copies | steps | carried) !== 0) carryTo(recordAt(address));
}

/**
 * Continues the chain of a live block in the block at `address`, which its contents were copied into. A
 * collector frees the old block later.
 */
export function goOnBeside(old: Address, oldSize: u32, address: Address, size: u32): void {
  forgetEnded();
  const record = oldSize > LARGEST_SMALL ? recordAt(old) : 0;
  if (record !== 0) takeChain(record);
  endedSize = oldSize;
  carried = max(carried, usedBytes(old, oldSize));
  continueChain(address, size, true);
  if (record !== 0) store<u32>(record, WENT_ON, Record.copies);
}

/** True if the youngest block has the ended block's contents. Its record then carries the chain. */
function goesOnIn(youngest: usize, address: Address, mib: usize, start: u32): bool {
  const size = load<u32>(youngest, Record.size);
  if (size <= endedSize || carried < endedSize - carried) return false;
  // The youngest block is already the successor of another one.
  if ((load<u32>(youngest, Record.copies) | load<u32>(youngest, Record.carried)) !== 0) return false;
  // A small ended block may be younger than the youngest large block.
  if (endedSize <= LARGEST_UNMARKED && <i32>(load<u32>(youngest, Record.time) - start) <= 0) return false;
  const next = addressOf(youngest);
  if (!isCopy(address, next, carried)) {
    if (load<u32>(youngest, Record.mib) !== mib || COUNTED === 0) return false;
    if (load<u32>(CONTROL, Control.allocations) !== load<u32>(CONTROL, Control.youngestNumber)) return false;
    if (!isFilledAsFar(next, size)) return false;
  }
  copies++;
  copiedBytes += carried;
  carryTo(youngest);
  return true;
}

/**
 * True if two ranges of the program's memory have the same contents (except the last 8 bytes), and these are
 * not one repeated word.
 */
function isCopy(from: Address, to: Address, bytes: u32): bool {
  let first: u64 = 0;
  let differ = false;
  for (let at: u32 = 0, end = (bytes - 1) & ~7; at < end; at += 8) {
    if ((at & (PART_BYTES - 1)) === 0) {
      const part = min(end - at, PART_BYTES);
      if (!isReadable(from + at, part, bytes) || !isReadable(to + at, part, bytes)) return false;
      if (at === 0) first = programLoad64(from);
    }
    const word = programLoad64(from + at);
    if (word !== programLoad64(to + at)) return false;
    if (word !== first) differ = true;
  }
  return differ;
}

/**
 * True if a block of `size` bytes has been accessed about as much as the smaller block that ends. Only the
 * first part, twice the size of the smaller block, is examined. So the check never takes longer than the
 * copy.
 */
function isFilledAsFar(address: Address, size: u32): bool {
  const seen = size - endedSize < endedSize ? size : endedSize << 1;
  const first = counterPlace(address);
  const end = counterPlace(address + seen - 1) + 4;
  let accesses: u64 = 0;
  let touched: u32 = EXACT === 0 ? countMarks(<u32>address, seen, false) : 0;
  askAgain();
  for (let at = nextTouched(first, end); at < end; at = nextTouched(at, end)) {
    for (const stop = touchedEnd(at, end); at < stop; at += 4) {
      const counter = counterOf(at);
      if (counter === 0) continue;
      accesses += counter >>> 1;
      touched++;
    }
  }
  const old = (endedSize + 7) >>> 3;
  const more = <u32>((end - first) >>> 2) - old;
  // An access moves 8 bytes as a rule and 16 at most, and a hash table is not full.
  return touched <= old + (more >>> 1) && accesses >= (carried + 31) >>> 5;
}

function carryTo(record: usize): void {
  store<u32>(record, copies, Record.copies);
  store<u32>(record, steps, Record.steps);
  store<u32>(record, carried, Record.carried);
  store<u64>(record, copiedBytes, Record.copiedBytes);
}
