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
import { bump32, bump64, recordAt } from "./records";

// Blocks that grow: by a reallocation that moves them, or as vectors, strings and hash tables do, which allocate a larger block,
// copy, and release the old one. The first way is seen as it is. For the second one only the moment counts at which a block
// is released, and only one block can be its successor: the large block that began last, if it began after the one that ends and
// is larger. It is the successor if one of these holds:
//
//  - It has the contents of the one that ends: at least half of that one was used, and the bytes up to the last one that
//    was used are the same in both, but for the last 8, and not all alike. So it is with strings, whose end is where the new
//    one goes on, and with elements that are copied as they are.
//  - Nothing was allocated since, both come from one context, and the program has written to the new one about what the old one
//    had: some of it, and at most half of what is more room in it. So it is with elements that are moved one by one, which
//    empties the old ones, and with hash tables, whose elements get other places. A buffer that is filled before its
//    predecessor is released has no room left, and one that is filled later has nothing in it yet.
//
// Where realloc finds room behind a block nothing is copied, by the allocator's luck. Such steps are counted apart.
//
// Chains are counted where they end, in the context of the last block: until then the block's record carries them.
//
//   malloc 1000 → A, written up to 1000. malloc 2000 → B, A's 1000 bytes copied to B, A freed:        1 copy,  1000 bytes
//   B written up to 2000. realloc B to 4000 moves it to C:                                            2 copies, 3000 bytes
//   C written up to 2500, freed: a chain of 2 copies and 3000 bytes, at its end 2500 of 4000 bytes used, 1500 were not.

/** So much of two blocks is compared before it is asked whether more can be read. */
const PART_BYTES: u32 = 4096;

/** Of the block that ended last: how often its contents were copied, how many bytes that were, its size, and what it used of it. */
let copies: u32 = 0;
let steps: u32 = 0;
let copiedBytes: u64 = 0;
let endedSize: u32 = 0;
let carried: u32 = 0;

@inline
export function growthOf(mib: usize): usize {
  return GROWTHS + (mib - MIBS) / (CONTEXT_BYTES / GROWTH_BYTES);
}

/** A large block begins, which has a record. */
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

/** The block of a record is about to end. True: its contents were copied into another one before. */
@inline
export function takeChain(record: usize): bool {
  copies = load<u32>(record, Record.copies);
  steps = load<u32>(record, Record.steps);
  carried = load<u32>(record, Record.carried);
  copiedBytes = load<u64>(record, Record.copiedBytes);
  if (load<u32>(CONTROL, Control.youngest) === record) store<u32>(CONTROL, 0, Control.youngest);
  return copies === WENT_ON;
}

/** Bytes of a block up to the end of the last granule that was accessed, as far as it is known. */
export function usedBytes(address: Address, size: u32): u32 {
  if (COUNTED === 0) return size;
  if (wereTaken()) return 0;
  askAgain();
  const first = counterPlace(address);
  const end = counterPlace(address + size - 1) + 4;
  let last = end;
  while (last > first) {
    last = untouchedBefore(first, last);
    // Steps of 16 end at the beginnings of pages, which are asked about.
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
 * The block that `takeChain` was told of ends, before its counters are cleaned. `moved`: by a reallocation, which tells
 * `continueChain` of the block that comes after.
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

/** After a reallocation that ended a block: the one at `address` comes after it. `moved`: it is at another place. */
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

/** The contents of a block that lives, and that a collector frees some day, have been copied into the one at `address`. */
export function goOnBeside(old: Address, oldSize: u32, address: Address, size: u32): void {
  forgetEnded();
  const record = oldSize > LARGEST_SMALL ? recordAt(old) : 0;
  if (record !== 0) takeChain(record);
  endedSize = oldSize;
  carried = max(carried, usedBytes(old, oldSize));
  continueChain(address, size, true);
  if (record !== 0) store<u32>(record, WENT_ON, Record.copies);
}

/** Whether the ended block's contents are in the youngest one, whose record is given; then that one carries the chain. */
function goesOnIn(youngest: usize, address: Address, mib: usize, start: u32): bool {
  const size = load<u32>(youngest, Record.size);
  if (size <= endedSize || carried < endedSize - carried) return false;
  // It comes after another one.
  if ((load<u32>(youngest, Record.copies) | load<u32>(youngest, Record.carried)) !== 0) return false;
  // Small blocks may be younger than the youngest large one.
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
 * Whether two ranges of the program's memory have the same contents, but for the last 8 bytes, and not the same 8 bytes over
 * and over.
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
 * Whether a block of `size` bytes has been accessed about as much as the smaller one that ends. Only twice that one's
 * size is looked at, so that it never takes longer than copying does.
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
  // One access moves 8 bytes as a rule, and up to 16; and a hash table is not full.
  return touched <= old + (more >>> 1) && accesses >= (carried + 31) >>> 5;
}

/** Writes what is known of the chain to a record. */
function carryTo(record: usize): void {
  store<u32>(record, copies, Record.copies);
  store<u32>(record, steps, Record.steps);
  store<u32>(record, carried, Record.carried);
  store<u64>(record, copiedBytes, Record.copiedBytes);
}
