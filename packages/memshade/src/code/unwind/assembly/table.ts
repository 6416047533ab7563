// Table under construction. Entries are written in the order in which FDEs are read, and sorted at the end
// (compact-table.ts). It has four arrays, which move to the end of the memory when they are full:
//
//   entries   u32: rule set << 12 | low bits of the offset at which it begins to hold
//   marks     {i32 block, u32 entry}: entries from this one on begin in that block of 4 KiB
//   segments  {i32 start, i32 end, u32 first entry}: FDEs in ascending order that do not overlap
//   fdes      {i32 start, i32 end, u32 first entry}
import { KEYED_SETS, LAST_OFFSET, REDUCED, REGIONS, ROW_DELTAS, ROW_SETS } from "./layout";

export const BLOCK_BITS: i32 = 12;
const LOW_MASK: u32 = (1 << BLOCK_BITS) - 1;
const NO_BLOCK: i32 = i32.MIN_VALUE;

export const MARK_BYTES: u32 = 8;
const SEGMENT_BYTES: u32 = 12;
const FDE_BYTES: u32 = 12;

declare module "host";
/** Returns the part of a rule set that the table keeps. */
declare function reduced(set: u32): u32;

export let entries: u32 = 0;
export let entryCount: u32 = 0;
let entryCapacity: u32 = 0;
export let marks: u32 = 0;
export let markCount: u32 = 0;
let markCapacity: u32 = 0;
export let segments: u32 = 0;
export let segmentCount: u32 = 0;
let segmentCapacity: u32 = 0;
let fdes: u32 = 0;
let fdeCount: u32 = 0;
let fdeCapacity: u32 = 0;
export let rowCount: u32 = 0;

let top: u32 = REGIONS;
/** Shorter gaps between functions count as padding: the rule before them stays in force. */
let minGap: u32 = 0;
let lastBlock: i32 = NO_BLOCK;
let lastSet: u32 = 0;
/** End of the last FDE, and the highest end of any. */
let lastEnd: i32 = i32.MIN_VALUE;
let highestEnd: i32 = i32.MIN_VALUE;

export function allocate(bytes: u32): u32 {
  const at = top;
  top = (top + bytes + 7) & ~7;
  const pages = (top + 0xffff) >>> 16;
  if (pages > <u32>memory.size()) {
    if (memory.grow(pages - memory.size()) < 0) unreachable();
  }
  return at;
}

function moved(from: u32, bytes: u32, newBytes: u32): u32 {
  const to = allocate(newBytes);
  memory.copy(to, from, bytes);
  return to;
}

export function beginTable(rows: u32, expectedFdes: u32, shortestGap: u32): void {
  minGap = shortestGap;
  entryCapacity = rows + 16;
  entries = allocate(entryCapacity << 2);
  // Blocks of compiled code have several dozen entries.
  markCapacity = (rows >>> 5) + 64;
  marks = allocate(markCapacity * MARK_BYTES);
  segmentCapacity = 64;
  segments = allocate(segmentCapacity * SEGMENT_BYTES);
  fdeCapacity = expectedFdes + 16;
  fdes = allocate(fdeCapacity * FDE_BYTES);
}

export function reserve(rows: u32): void {
  if (entryCount + rows + 2 > entryCapacity) {
    entryCapacity = entryCapacity + (entryCapacity >>> 1) + rows + 2;
    entries = moved(entries, entryCount << 2, entryCapacity << 2);
  }
  if (markCount + rows + 2 > markCapacity) {
    markCapacity = 2 * markCapacity + rows;
    marks = moved(marks, markCount * MARK_BYTES, markCapacity * MARK_BYTES);
  }
  if (segmentCount === segmentCapacity) {
    segmentCapacity *= 2;
    segments = moved(segments, segmentCount * SEGMENT_BYTES, segmentCapacity * SEGMENT_BYTES);
  }
  if (fdeCount === fdeCapacity) {
    fdeCapacity += fdeCapacity >>> 1;
    fdes = moved(fdes, fdeCount * FDE_BYTES, fdeCapacity * FDE_BYTES);
  }
}

/** Appends copies of entries. There must be room. */
export function copyEntries(first: u32, count: u32): void {
  memory.copy(entries + (entryCount << 2), entries + (first << 2), count << 2);
  entryCount += count;
}

function add(offset: i32, set: u32): void {
  const block = offset >> BLOCK_BITS;
  if (block !== lastBlock) {
    const mark = marks + markCount * MARK_BYTES;
    store<i32>(mark, block);
    store<u32>(mark, entryCount, 4);
    markCount++;
    lastBlock = block;
  }
  store<u32>(entries + (entryCount << 2), (set << BLOCK_BITS) | (<u32>offset & LOW_MASK));
  entryCount++;
  lastSet = set;
}

export function endTable(): void {
  if (segmentCount === 0) return;
  if (lastSet !== 0) add(lastEnd, 0);
  store<i32>(segments + (segmentCount - 1) * SEGMENT_BYTES, lastEnd, 4);
}

function beginSegment(start: i32): void {
  endTable();
  const segment = segments + segmentCount * SEGMENT_BYTES;
  store<i32>(segment, start);
  store<i32>(segment, start, 4);
  store<u32>(segment, entryCount, 8);
  segmentCount++;
  lastBlock = NO_BLOCK;
  lastSet = 0;
}

function beginStretch(start: i32, end: i32, rows: u32): void {
  reserve(rows);
  // The FDE continues the segment if it starts after the last one, and no earlier FDE reaches further.
  const isInOrder =
    start >= lastEnd && segmentCount > 0 && (lastEnd === highestEnd || <u32>(start - lastEnd) < minGap);
  if (!isInOrder) beginSegment(start);
  else if (<u32>(start - lastEnd) >= minGap && lastSet !== 0) add(lastEnd, 0);
  lastEnd = end;
  if (end > highestEnd) highestEnd = end;
}

export function beginFde(start: i32, end: i32, rows: u32): void {
  beginStretch(start, end, rows);
  const fde = fdes + fdeCount * FDE_BYTES;
  store<i32>(fde, start);
  store<i32>(fde, end, 4);
  store<u32>(fde, entryCount, 8);
  fdeCount++;
}

/** Adds the rows `[first, last)` of `ROW_*` to the current FDE. */
export function addRows(start: i32, end: i32, first: u32, last: u32): void {
  const codeBytes = <u32>(end - start);
  let row = first;
  for (; row < last; row++) {
    const delta = load<u32>(row << 2, ROW_DELTAS);
    if (delta >= codeBytes) break;
    const full = load<u32>(row << 2, ROW_SETS);
    let set: u32;
    if (full < KEYED_SETS) {
      set = load<u32>(full << 2, REDUCED) - 1;
      if (set === u32.MAX_VALUE) {
        set = reduced(full);
        store<u32>(full << 2, set + 1, REDUCED);
      }
    } else {
      set = reduced(full);
    }
    if (set !== lastSet) add(start + delta, set);
  }
  rowCount += row - first;
}

/** Cursors of the FDEs while they are sorted: the next entry of each, the mark after it, and the set before it. */
let cursors: u32 = 0;
let cursorMarks: u32 = 0;
let cursorSets: u32 = 0;
let oldEntries: u32 = 0;
let oldEntryCount: u32 = 0;
let oldMarks: u32 = 0;
let oldMarkCount: u32 = 0;
/** FDEs that began and may continue after the FDEs inside of them, the innermost last. */
let open: u32 = 0;
let openCount: u32 = 0;
let position: i32 = i32.MIN_VALUE;

/** Returns FDE numbers by ascending start; FDEs with equal starts keep the order in which they were read. */
function sortedFdes(): u32 {
  let from = allocate(fdeCount << 2);
  let to = allocate(fdeCount << 2);
  const counts = allocate(256 << 2);
  for (let fde: u32 = 0; fde < fdeCount; fde++) store<u32>(from + (fde << 2), fde);
  for (let shift: u32 = 0; shift < 32; shift += 8) {
    memory.fill(counts, 0, 256 << 2);
    for (let fde: u32 = 0; fde < fdeCount; fde++) {
      const at = counts + (digit(fde, shift) << 2);
      store<u32>(at, load<u32>(at) + 1);
    }
    let sum: u32 = 0;
    for (let i: u32 = 0; i < 256; i++) {
      const count = load<u32>(counts + (i << 2));
      store<u32>(counts + (i << 2), sum);
      sum += count;
    }
    for (let i: u32 = 0; i < fdeCount; i++) {
      const fde = load<u32>(from + (i << 2));
      const at = counts + (digit(fde, shift) << 2);
      const place = load<u32>(at);
      store<u32>(at, place + 1);
      store<u32>(to + (place << 2), fde);
    }
    const other = from;
    from = to;
    to = other;
  }
  return from;
}

@inline
function digit(fde: u32, shift: u32): u32 {
  return ((load<u32>(fdes + fde * FDE_BYTES) ^ 0x8000_0000) >>> shift) & 0xff;
}

@inline
function fdeStart(fde: u32): i32 {
  return load<i32>(fdes + fde * FDE_BYTES);
}

@inline
function fdeEnd(fde: u32): i32 {
  return load<i32>(fdes + fde * FDE_BYTES, 4);
}

@inline
function lastEntry(fde: u32): u32 {
  return fde + 1 < fdeCount ? load<u32>(fdes + (fde + 1) * FDE_BYTES, 8) : oldEntryCount;
}

function cursorOffset(fde: u32, entry: u32): i32 {
  let mark = load<u32>(cursorMarks + (fde << 2));
  while (mark < oldMarkCount && load<u32>(oldMarks + mark * MARK_BYTES, 4) <= entry) mark++;
  store<u32>(cursorMarks + (fde << 2), mark);
  const block = load<i32>(oldMarks + (mark - 1) * MARK_BYTES);
  return (block << BLOCK_BITS) + <i32>(load<u32>(oldEntries + (entry << 2)) & LOW_MASK);
}

function addStretch(fde: u32, end: i32): void {
  const last = lastEntry(fde);
  let entry = load<u32>(cursors + (fde << 2));
  let set = load<u32>(cursorSets + (fde << 2));
  beginStretch(position, end, 1);
  let offset: i32 = position;
  for (; entry < last; entry++) {
    const next = cursorOffset(fde, entry);
    if (next >= end) break;
    if (next > offset) {
      if (set !== lastSet) add(offset, set);
      offset = next;
      reserve(1);
    }
    set = load<u32>(oldEntries + (entry << 2)) >>> BLOCK_BITS;
  }
  if (set !== lastSet) add(offset, set);
  store<u32>(cursors + (fde << 2), entry);
  store<u32>(cursorSets + (fde << 2), set);
}

function addStretchesUpTo(limit: i32): void {
  while (openCount > 0 && position < limit) {
    const fde = load<u32>(open + ((openCount - 1) << 2));
    const end = min(fdeEnd(fde), limit);
    if (end > position) {
      addStretch(fde, end);
      position = end;
    }
    if (fdeEnd(fde) > limit) return;
    openCount--;
  }
}

/**
 * Opens the FDEs that share a start; the first of them is at `from` in the order. Returns the index of the next
 * ones.
 */
function openThoseAt(start: i32, order: u32, from: u32): u32 {
  // Each FDE counts only after the end of those read before it: the first one is the innermost.
  const outermost = openCount;
  let end = start;
  let next = from;
  for (; next < fdeCount; next++) {
    const fde = load<u32>(order + (next << 2));
    if (fdeStart(fde) !== start) break;
    if (fdeEnd(fde) <= end) continue;
    end = fdeEnd(fde);
    store<u32>(open + (openCount++ << 2), fde);
  }
  for (let low = outermost, high = openCount; low + 1 < high; low++) {
    const lower = open + (low << 2);
    const higher = open + (--high << 2);
    const fde = load<u32>(lower);
    store<u32>(lower, load<u32>(higher));
    store<u32>(higher, fde);
  }
  return next;
}

/**
 * Builds the table of overlapping FDEs from the written entries. If several FDEs describe an address, the one that
 * starts last counts; of those with equal starts the first that was read.
 */
export function resolveOverlaps(): void {
  const order = sortedFdes();
  cursors = allocate(fdeCount << 2);
  cursorMarks = allocate(fdeCount << 2);
  cursorSets = allocate(fdeCount << 2);
  open = allocate(fdeCount << 2);
  oldEntries = entries;
  oldEntryCount = entryCount;
  oldMarks = marks;
  oldMarkCount = markCount;
  let mark: u32 = 0;
  for (let fde: u32 = 0; fde < fdeCount; fde++) {
    const entry = load<u32>(fdes + fde * FDE_BYTES, 8);
    store<u32>(cursors + (fde << 2), entry);
    while (mark < oldMarkCount && load<u32>(oldMarks + mark * MARK_BYTES, 4) <= entry) mark++;
    store<u32>(cursorMarks + (fde << 2), mark);
    // An FDE whose first entry starts later continues the set before it.
    const before = entry > 0 ? load<u32>(oldEntries + ((entry - 1) << 2)) >>> BLOCK_BITS : 0;
    store<u32>(cursorSets + (fde << 2), before);
  }
  entryCapacity = entryCount + 2 * fdeCount + 16;
  entries = allocate(entryCapacity << 2);
  entryCount = 0;
  markCapacity = markCount + fdeCount + 16;
  marks = allocate(markCapacity * MARK_BYTES);
  markCount = 0;
  segmentCount = 0;
  lastEnd = i32.MIN_VALUE;
  highestEnd = i32.MIN_VALUE;
  for (let i: u32 = 0; i < fdeCount; ) {
    const start = fdeStart(load<u32>(order + (i << 2)));
    addStretchesUpTo(start);
    position = start;
    i = openThoseAt(start, order, i);
  }
  addStretchesUpTo(LAST_OFFSET);
  endTable();
}
