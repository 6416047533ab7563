// Stands in the place of `tools/heap/assembly/counter-memory.ts` where native programs are profiled. What inserted code has counted at two
// places (`COUNTERS`) is one counter for those who read it: twice the accesses, and a bit if one of them reads. What nobody has touched is not
// read where it is large: that would take memory.
import { Address } from "../../../tools/heap/assembly/program";
import { COUNTERS, GRANULE_SHIFT, Header, WRITES, WRITES_BIT } from "../layout.generated";
import { load128, load32, load64, memorySlot, store128, store32, store64, syscall3 } from "../machine";
import { MADV_REMOVE, MADVISE, MINCORE } from "../system-calls";

export type CounterPlace = u64;

const PAGE_BYTES: u64 = 4096;
/** Pages that are asked about at once. */
const PAGES: u64 = 4096;
/** Blocks of so many bytes may have counters that nobody has touched: four pages of them. */
const LARGE: u32 = 32 * 1024;
/** Touched counters of so many bytes are given back to the system, instead of being written. */
const GIVEN_BACK: u64 = 1 << 20;

@inline
export function counterPlace(address: Address): CounterPlace {
  return <u64>COUNTERS + ((address >>> GRANULE_SHIFT) << 2);
}

@inline
export function alignedCounterPlace(address: Address): CounterPlace {
  return <u64>COUNTERS + (address >>> 1);
}

/** Where accesses of the same granule are counted that only write. */
@inline
function writesAt(at: CounterPlace): u64 {
  return <u64>WRITES + ((at - <u64>COUNTERS) ^ ((<u64>4) << WRITES_BIT));
}

@inline
export function counterOf(at: CounterPlace): u32 {
  const reads = load32(at);
  return ((reads + load32(writesAt(at))) << 1) | (reads !== 0 ? 1 : 0);
}

@inline
export function twoCounters(at: CounterPlace): u64 {
  return <u64>counterOf(at) | ((<u64>counterOf(at + 4)) << 32);
}

@inline
export function fourCounters(at: CounterPlace): v128 {
  const reads = load128(at);
  const all = i32x4.add(reads, load128(writesAt(at)));
  // A lane of ones less those where nothing has read.
  const flags = i32x4.add(i32x4.splat(1), i32x4.eq(reads, i64x2.splat(0)));
  return v128.or(i32x4.add(all, all), flags);
}

@inline
export function clean(at: CounterPlace): void {
  store32(at, 0);
  store32(writesAt(at), 0);
}
@inline
export function cleanTwo(at: CounterPlace): void {
  store64(at, 0);
  store64(writesAt(at), 0);
}
@inline
export function cleanFour(at: CounterPlace): void {
  store128(at, i64x2.splat(0));
  store128(writesAt(at), i64x2.splat(0));
}

/** `flags`: as they were found. */
export function setCounter(at: CounterPlace, accesses: u32, flags: u32): void {
  store32((flags & 1) !== 0 ? at : writesAt(at), accesses);
}

@inline
export function mayBeUntouched(size: u32): bool {
  return size >= LARGE;
}

/** The pages that were asked about last: the first one's address, and behind the last one. */
let askedFrom: u64 = 0;
let askedEnd: u64 = 0;

@inline
function pageOf(at: u64): u64 {
  return at & ~(PAGE_BYTES - 1);
}

/** Whether somebody has touched a page of counters, of either kind. */
function isTouched(page: u64, end: u64): bool {
  if (page < askedFrom || page >= askedEnd) ask(page, end);
  return load<u8>(Header.touched + <u32>((page - askedFrom) / PAGE_BYTES)) !== 0;
}

/** The kernel tells which pages are there. Those of writes begin elsewhere in a page: they are two. */
function ask(page: u64, end: u64): void {
  const pages = min(PAGES - 1, (end - page + PAGE_BYTES - 1) / PAGE_BYTES);
  const vector = load64(memorySlot()) + Header.touched;
  askedFrom = page;
  askedEnd = page + pages * PAGE_BYTES;
  if (syscall3(MINCORE, pageOf(writesAt(page)), (pages + 1) * PAGE_BYTES, vector) !== 0)
    memory.fill(Header.touched, 1, <u32>pages + 1);
  for (let i: u32 = 0; i < <u32>pages; i++)
    store<u8>(Header.touched + i, load<u8>(Header.touched + i) | load<u8>(Header.touched + i + 1));
  const other: u32 = Header.touched + <u32>PAGES;
  if (syscall3(MINCORE, page, pages * PAGE_BYTES, vector + PAGES) !== 0) memory.fill(other, 1, <u32>pages);
  for (let i: u32 = 0; i < <u32>pages; i++)
    store<u8>(Header.touched + i, (load<u8>(Header.touched + i) | load<u8>(other + i)) & 1);
}

/** It costs more to ask about so few counters than to read them, unless that was done with others already. */
@inline
function isSmall(at: CounterPlace, end: CounterPlace): bool {
  return end - at < LARGE / 2 && (at < askedFrom || at >= askedEnd);
}

export function askAgain(): void {
  askedEnd = 0;
}

export function nextTouched(at: CounterPlace, end: CounterPlace): CounterPlace {
  if (isSmall(at, end)) return at;
  while (at < end && !isTouched(pageOf(at), end)) at = pageOf(at) + PAGE_BYTES;
  return min(at, end);
}

export function touchedEnd(at: CounterPlace, end: CounterPlace): CounterPlace {
  if (isSmall(at, end)) return end;
  while (at < end && isTouched(pageOf(at), end)) at = pageOf(at) + PAGE_BYTES;
  return min(at, end);
}

export function untouchedBefore(from: CounterPlace, end: CounterPlace): CounterPlace {
  if (isSmall(from, end) || (end & (PAGE_BYTES - 1)) !== 0) return end;
  while (end > from) {
    const page = end - PAGE_BYTES;
    if (page < askedFrom || page >= askedEnd) ask(max(pageOf(from), end - (PAGES - 1) * PAGE_BYTES), end);
    if (isTouched(page, end)) break;
    end = page;
  }
  return max(end, from);
}

let isTaken: bool = false;
let takenTouched: u32 = 0;
let takenFlags: u32 = 0;

/** The block that ends next had its counters taken before, until `forgetTaken`. */
export function setTaken(touched: u32, flags: u32): void {
  isTaken = true;
  takenTouched = touched;
  takenFlags = flags;
}
export function forgetTaken(): void {
  isTaken = false;
}

@inline
export function wereTaken(): bool {
  return isTaken;
}
@inline
export function touchedBefore(): u32 {
  return takenTouched;
}
@inline
export function flagsBefore(): u32 {
  return takenFlags;
}

/** Memory of many counters is the system's again, where it is shared. */
export function giveBack(from: CounterPlace, end: CounterPlace): void {
  if (end - from < GIVEN_BACK) return;
  givePages(from, end);
  givePages(writesAt(from), writesAt(end));
}

function givePages(from: u64, end: u64): void {
  const first = pageOf(from + PAGE_BYTES - 1);
  syscall3(MADVISE, first, pageOf(end) - first, MADV_REMOVE);
}
