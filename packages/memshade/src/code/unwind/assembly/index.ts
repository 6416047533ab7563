// Inner loops for reading call frame information, and for building tables of it.
import {
  allocate,
  BLOCK_BITS,
  copyEntries,
  entries,
  entryCount,
  MARK_BYTES,
  markCount,
  marks,
  reserve,
} from "./table";

export {
  CIES,
  CIE_SLOTS,
  FDE_ROWS,
  FDE_SIZES,
  FDE_STARTS,
  MOST_FDES,
  MOST_ROWS,
  REGIONS,
  ROW_DELTAS,
  ROW_SETS,
} from "./layout";
export { TRANSITION_BITS, TRANSITION_TABLES, TRANSITIONS, WINDOW, WINDOW_BYTES } from "./layout";
export { addRows, beginFde, beginTable, endTable, resolveOverlaps } from "./table";

export { entries, entryCount, markCount, marks, rowCount, segmentCount, segments } from "./table";
export { fdeCount, readFdes, setSection, setWindow } from "./fast-fdes";

// Index of a table by blocks of code: the entries of each block, and the rule set in force before the first of
// them.

/** Columns per block: first entry, number of entries that begin in the block (u16), rule set at its start. */
export let firsts: u32 = 0;
export let counts: u32 = 0;
export let before: u32 = 0;
let nextBlock: u32 = 0;
/** Rule set in force after the last indexed entry. */
let set: u32 = 0;

/** Number of the block at code offset 0, counted from offset -2^31 on. */
const MIDDLE_BLOCK: i32 = 1 << (31 - BLOCK_BITS);

export function beginIndex(blockCount: u32): void {
  firsts = allocate(blockCount << 2);
  counts = allocate(blockCount << 1);
  before = allocate(blockCount << 2);
  memory.fill(counts, 0, blockCount << 1);
  nextBlock = 0;
  set = 0;
}

export function skipBlocks(upTo: u32): void {
  for (; nextBlock < upTo; nextBlock++) store<u32>(before + (nextBlock << 2), set);
}

/** Joins the entries of two runs that meet inside of a block, at the end of the entries. */
function joinBlock(block: u32, first: u32, last: u32): void {
  const presentCount = <u32>load<u16>(counts + (block << 1));
  reserve(presentCount + last - first);
  const start = load<u32>(firsts + (block << 2));
  if (start + presentCount !== entryCount) {
    store<u32>(firsts + (block << 2), entryCount);
    copyEntries(start, presentCount);
  }
  copyEntries(first, last - first);
  store<u16>(counts + (block << 1), <u16>(presentCount + last - first));
}

export function markOf(entry: u32): u32 {
  let low: u32 = 0;
  let high = markCount;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<u32>(marks + middle * MARK_BYTES, 4) <= entry) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Indexes the entries `[first, last)`, which follow those indexed before. */
export function indexEntries(first: u32, last: u32): void {
  if (first === last) return;
  for (let mark = markOf(first); mark < markCount; mark++) {
    const from = max(first, load<u32>(marks + mark * MARK_BYTES, 4));
    if (from >= last) break;
    const to = mark + 1 < markCount ? min(last, load<u32>(marks + (mark + 1) * MARK_BYTES, 4)) : last;
    const block = <u32>(load<i32>(marks + mark * MARK_BYTES) + MIDDLE_BLOCK);
    if (block >= nextBlock) {
      skipBlocks(block + 1);
      store<u32>(firsts + (block << 2), from);
      store<u16>(counts + (block << 1), <u16>(to - from));
    } else {
      joinBlock(block, from, to);
    }
    set = load<u32>(entries + ((to - 1) << 2)) >>> BLOCK_BITS;
  }
}
