// Replaces `tools/heap/assembly/counter-memory.ts` for native programs. Inserted code counts at two addresses
// (`COUNTERS`). Readers get one combined counter: twice the accesses, and bit 0 if any of them reads. Large
// ranges of untouched counters are not read, since reading would allocate their pages.
import { Address } from "../../../tools/heap/assembly/program";
import { COUNTERS, GRANULE_SHIFT, Header, WRITES, WRITES_BIT } from "../layout.generated";
import { load128, load32, load64, memorySlot, store128, store32, store64, syscall3 } from "../machine";
import { MADV_REMOVE, MADVISE, MINCORE } from "../system-calls";

export type CounterPlace = u64;

const PAGE_BYTES: u64 = 4096;
/** Pages per call of `mincore`. */
const PAGES: u64 = 4096;
/** Size of a block from which on some of its counters may be untouched: four pages of counters. */
const LARGE: u32 = 32 * 1024;
/** Bytes of touched counters from which on their pages are given back to the system instead of cleared. */
const GIVEN_BACK: u64 = 1 << 20;

@inline
export function counterPlace(address: Address): CounterPlace {
  return <u64>COUNTERS + ((address >>> GRANULE_SHIFT) << 2);
}

@inline
export function alignedCounterPlace(address: Address): CounterPlace {
  return <u64>COUNTERS + (address >>> 1);
}

/** Returns the address of the counter for accesses of the same granule that only write. */
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
  const sums = i32x4.add(reads, load128(writesAt(at)));
  // Each lane is 1, or 0 where no access has read.
  const flags = i32x4.add(i32x4.splat(1), i32x4.eq(reads, i64x2.splat(0)));
  return v128.or(i32x4.add(sums, sums), flags);
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

/** `flags`: the flags that were found in the counter. */
export function setCounter(at: CounterPlace, accesses: u32, flags: u32): void {
  store32((flags & 1) !== 0 ? at : writesAt(at), accesses);
}

@inline
export function mayBeUntouched(size: u32): bool {
  return size >= LARGE;
}

/** First address of the pages in the last `mincore` result, and their end. */
let askedFrom: u64 = 0;
let askedEnd: u64 = 0;

@inline
function pageOf(at: u64): u64 {
  return at & ~(PAGE_BYTES - 1);
}

function isTouched(page: u64, end: u64): bool {
  if (page < askedFrom || page >= askedEnd) ask(page, end);
  return load<u8>(Header.touched + <u32>((page - askedFrom) / PAGE_BYTES)) !== 0;
}

/**
 * Asks the kernel which pages are present. The counters of writes begin elsewhere in a page, so they take one
 * page more.
 */
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

/**
 * True if reading these counters costs less than a system call, unless the last result already covers them.
 */
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

/** Sets the counters of the block that ends next, which were taken before. They hold until `forgetTaken`. */
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

/** Gives the pages of many counters back to the system; the counters must be in shared memory. */
export function giveBack(from: CounterPlace, end: CounterPlace): void {
  if (end - from < GIVEN_BACK) return;
  givePages(from, end);
  givePages(writesAt(from), writesAt(end));
}

function givePages(from: u64, end: u64): void {
  const first = pageOf(from + PAGE_BYTES - 1);
  syscall3(MADVISE, first, pageOf(end) - first, MADV_REMOVE);
}
