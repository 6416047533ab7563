// Shadow words of native blocks that begin or end. For WebAssembly, `assembly/summary/blocks.ts` does the same in
// linear memory. The words and tables are those of `layout.ts`.
import { Text, WALKED } from "../../../assembly/layout.generated";
import { processAddress } from "../../../assembly/lock";
import { load32, load64, store64, syscall3, text } from "../../../assembly/machine";
import { MADV_REMOVE, MADVISE, MINCORE } from "../../../assembly/system-calls";
import { currentThread } from "../../../assembly/threads";
import { ADDRESS_BITS, DEALLOCATED, FIRST_ID, INVALID, LAST_ID, SHADOW } from "./layout.generated";

const LOWEST: u64 = 0x0001_0001_0001_0001;
/** Value of `Text.isWaste` in deadstores mode, where memory that was never stored to counts as invalid. */
const COMPATIBLE: u32 = 2;
const LANES: u64 = 4;
const PAGE_BYTES: u64 = 4096;
const HIGH_BITS: u64 = 64 - <u64>ADDRESS_BITS;
/** Threshold in bytes of words. Pages of larger ranges are written only if they exist, since writing allocates them. */
const QUERIED: u64 = 1 << 16;
/** Threshold in bytes of words. Larger ranges are returned to the system instead of being written. */
const GIVEN_BACK: u64 = 1 << 18;
/** Pages per `mincore` call. The result, a byte per page, uses the thread's buffer for stack walks. */
const PAGES: u64 = 32 * 1024;

export function isCompatible(): bool {
  return load32(text() + Text.isWaste) === COMPATIBLE;
}

@inline
function invalidWords(): u64 {
  return isCompatible() ? 0 : <u64>INVALID * LOWEST;
}

@inline
function wordsOf(address: u64): u64 {
  return <u64>SHADOW + ((address << HIGH_BITS) >> (HIGH_BITS - 1));
}

@inline
function charge(id: u64): void {
  if (id < <u64>FIRST_ID || id > <u64>LAST_ID) return;
  const at = <u64>DEALLOCATED + (id << 3);
  store64(at, load64(at) + 1);
}

/** Charges the stores of four bytes. Quick exit: words that are all read or invalid, or all untouched. */
@inline
function chargeWords(ids: u64): void {
  if ((ids | LOWEST) === <u64>-1 || ids === 0) return;
  for (let i: u32 = 0; i < 4; i++, ids >>>= 16) charge(ids & 0xffff);
}

/** Handles the start or end of a block: charges unread bytes to their stores, then marks all bytes as invalid. */
export function invalidate(address: u64, bytes: u64): void {
  let at = wordsOf(address);
  const end = at + 2 * bytes;
  if (2 * bytes >= QUERIED) {
    at = invalidateUntil(at, (at + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1));
    at =
      2 * bytes >= GIVEN_BACK
        ? giveBack(at, end & ~(PAGE_BYTES - 1))
        : invalidatePages(at, end & ~(PAGE_BYTES - 1));
  }
  invalidateUntil(at, end);
}

function invalidatePages(from: u64, end: u64): u64 {
  const thread = currentThread();
  queryPages(thread, from, end);
  for (let page = from; page < end; page += PAGE_BYTES)
    if (pageExists(thread, from, page)) invalidateUntil(page, page + PAGE_BYTES);
  return end;
}

function invalidateUntil(at: u64, end: u64): u64 {
  const invalid = invalidWords();
  for (; at + 2 * LANES <= end; at += 2 * LANES) {
    const ids = load64(at);
    if (ids === invalid) continue;
    chargeWords(ids);
    store64(at, invalid);
  }
  if (at >= end) return at;
  const behind: u64 = (<u64>-1) << ((end - at) << 3);
  const ids = load64(at);
  chargeWords(ids | behind);
  store64(at, (ids & behind) | (invalid & ~behind));
  return end;
}

/**
 * Charges unread bytes, then returns the words' pages to the system. Large blocks are mapped and unmapped by the system
 * themselves.
 */
function giveBack(from: u64, end: u64): u64 {
  const thread = currentThread();
  let hasPages = false;
  for (let at = from; at < end; ) {
    const queriedEnd = queryPages(thread, at, end);
    for (let page = at; page < queriedEnd; page += PAGE_BYTES) {
      if (!pageExists(thread, at, page)) continue;
      hasPages = true;
      for (let word = page; word < page + PAGE_BYTES; word += 8) chargeWords(load64(word));
    }
    at = queriedEnd;
  }
  if (hasPages) syscall3(MADVISE, from, end - from, MADV_REMOVE);
  return end;
}

/**
 * Queries which pages of words exist, from an address on, since reading the others would allocate them. Untouched
 * memory has no words.
 * @returns the end of the queried range
 */
function queryPages(thread: u32, from: u64, end: u64): u64 {
  const to = min(end, from + PAGES * PAGE_BYTES);
  if (thread !== 0 && syscall3(MINCORE, from, to - from, processAddress(thread + WALKED)) !== 0)
    memory.fill(thread + WALKED, 1, <u32>((to - from) / PAGE_BYTES));
  return to;
}

@inline
function pageExists(thread: u32, from: u64, page: u64): bool {
  return thread === 0 || (load<u8>(thread + WALKED + <u32>((page - from) / PAGE_BYTES)) & 1) !== 0;
}

/** Marks the zeros that a block begins with as untouched, like memory from the system. */
export function give(address: u64, bytes: u64): void {
  let at = wordsOf(address);
  const end = at + 2 * bytes;
  if (2 * bytes >= GIVEN_BACK) return;
  if (2 * bytes >= QUERIED) {
    at = giveUntil(at, (at + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1));
    at = givePages(at, end & ~(PAGE_BYTES - 1));
  }
  giveUntil(at, end);
}

function giveUntil(at: u64, end: u64): u64 {
  for (; at + 2 * LANES <= end; at += 2 * LANES) store64(at, 0);
  if (at < end) store64(at, load64(at) & ((<u64>-1) << ((end - at) << 3)));
  return end;
}

function givePages(from: u64, end: u64): u64 {
  const thread = currentThread();
  queryPages(thread, from, end);
  for (let page = from; page < end; page += PAGE_BYTES)
    if (pageExists(thread, from, page)) giveUntil(page, page + PAGE_BYTES);
  return end;
}

/**
 * Handles a block that has moved. Unread bytes stay unread at the new address, and nothing is charged. The old bytes
 * become invalid.
 */
export function move(from: u64, to: u64, bytes: u64): void {
  let at = wordsOf(from);
  const end = at + 2 * bytes;
  const shift = wordsOf(to) - at;
  if (2 * bytes >= QUERIED) {
    at = moveUntil(at, (at + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1), shift);
    at = movePages(at, end & ~(PAGE_BYTES - 1), shift);
  }
  moveUntil(at, end, shift);
}

/** `shift`: distance from the words of the old address to those of the new one. */
function moveUntil(at: u64, end: u64, shift: u64): u64 {
  const invalid = invalidWords();
  for (; at < end; at += 2 * LANES) {
    const ids = load64(at);
    // Usable sizes are multiples of eight bytes, as are block addresses.
    if (ids !== invalid) store64(at, invalid);
    if ((ids | LOWEST) !== <u64>-1 && ids !== 0) moveWords(ids, at + shift);
  }
  return end;
}

function movePages(from: u64, end: u64, shift: u64): u64 {
  const thread = currentThread();
  for (let at = from; at < end; ) {
    const queriedEnd = queryPages(thread, at, end);
    for (let page = at; page < queriedEnd; page += PAGE_BYTES)
      if (pageExists(thread, at, page)) moveUntil(page, page + PAGE_BYTES, shift);
    at = queriedEnd;
  }
  if (end - from >= GIVEN_BACK) syscall3(MADVISE, from, end - from, MADV_REMOVE);
  return end;
}

/** Moves the ids of unread bytes. Bytes that were read keep the id of the store that copied them. */
function moveWords(ids: u64, copy: u64): void {
  let copiedIds = load64(copy);
  for (let shift: u64 = 0; shift < 64; shift += 16) {
    const id = (ids >> shift) & 0xffff;
    if (id < <u64>FIRST_ID || id > <u64>LAST_ID) continue;
    copiedIds = (copiedIds & ~((<u64>0xffff) << shift)) | (id << shift);
  }
  store64(copy, copiedIds);
}
