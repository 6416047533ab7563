// Live blocks of the program's heap, and the touched bytes of freed ones.

import {
  BLOCK_CAPACITY,
  BLOCKS,
  BYTES,
  COVERED,
  FIRSTS,
  FREED,
  FREED_CAPACITY,
  HEADS,
  STARTS,
  STATE,
  slot,
} from "./imports";
import { BLOCK_BYTES, Block, FREED_BYTES, Freed, Key, State } from "./layout.generated";

/** Called before an allocation: records the call that requests it. */
export function requested(): void {
  store<u32>(STATE, slot(), State.request);
}

/**
 * Called after an allocation; the address is 0 if it failed. `zeroedBy` is 0 if the allocator wrote nothing to the
 * block.
 */
export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  if (address === 0 || size === 0) return;
  const end = <u64>address + size;
  if (end > COVERED) return;
  const start: usize = STARTS + ((address >>> 3) << 2);
  // A block at this address must have been freed by a call that was not recorded.
  if (load<u32>(start) !== 0) forget(load<u32>(start));
  const number = newNumber();
  if (number === 0) return;
  const block: usize = BLOCKS + number * BLOCK_BYTES;
  const request = load<u32>(STATE, State.request);
  store<u32>(block, address, Block.address);
  store<u32>(block, size, Block.size);
  store<u32>(block, request === 0 ? Key.unknownSite : request, Block.key);
  store<u32>(start, number);
  noteLines(address, size, number);
  // The allocator itself has touched these bytes.
  if (zeroedBy === 0) touchedBefore(address, <u32>end);
}

export function released(address: u32): void {
  const number = blockAt(address);
  if (number === 0) return;
  keepTouched(number);
  forget(number);
}

/** Called after a reallocation; the new address is 0 if it failed. */
export function reallocated(old: u32, address: u32, size: u32): void {
  if (address === 0 && size !== 0) return;
  const number = blockAt(old);
  if (number !== 0 && address !== old) keepTouched(number);
  if (number !== 0) forget(number);
  allocated(address, size, 1);
}

function blockAt(address: u32): u32 {
  if (address === 0 || address >= COVERED) return 0;
  const number = load<u32>(STARTS + ((address >>> 3) << 2));
  return number !== 0 && load<u32>(BLOCKS + number * BLOCK_BYTES, Block.address) === address ? number : 0;
}

function newNumber(): u32 {
  const free = load<u32>(STATE, State.blockFree);
  if (free !== 0) {
    store<u32>(STATE, load<u32>(BLOCKS + free * BLOCK_BYTES, Block.next), State.blockFree);
    return free;
  }
  const next = load<u32>(STATE, State.blockNext) + 1;
  if (next >= BLOCK_CAPACITY) {
    store<u32>(STATE, load<u32>(STATE, State.blocksLost) + 1, State.blocksLost);
    return 0;
  }
  store<u32>(STATE, next, State.blockNext);
  return next;
}

/** Records the block in the lines into which it extends. A line has one such block. */
function noteLines(address: u32, size: u32, number: u32): void {
  const last = (address + size - 1) >>> 6;
  for (let line = (address >>> 6) + 1; line <= last; line++) store<u32>(FIRSTS + (line << 2), number);
}

function forget(number: u32): void {
  const block: usize = BLOCKS + number * BLOCK_BYTES;
  const address = load<u32>(block, Block.address);
  store<u32>(STARTS + ((address >>> 3) << 2), 0);
  noteLines(address, load<u32>(block, Block.size), 0);
  store<u32>(block, 0, Block.address);
  store<u32>(block, load<u32>(STATE, State.blockFree), Block.next);
  store<u32>(STATE, number, State.blockFree);
}

/**
 * Keeps the touched bytes of a block for the block's key. A later block at the same address takes the bytes that it
 * touches in this interval.
 */
function keepTouched(number: u32): void {
  const block: usize = BLOCKS + number * BLOCK_BYTES;
  const address = load<u32>(block, Block.address);
  const end = address + load<u32>(block, Block.size);
  const key = load<u32>(block, Block.key);
  for (let line = address >>> 6; line << 6 < end; line++) {
    const touched = touchedInBlock(line);
    if (touched === 0) continue;
    const mask = touched & bitsInside(line, address, end);
    if (mask !== 0 && keepInLine(line, key, mask))
      forgetInBlock(max(address, line << 6), min(end, (line + 1) << 6));
  }
}

/** Returns the bytes of a line from `address` to `end` − 1; at least one. */
@inline
export function bitsInside(line: u32, address: u32, end: u32): u64 {
  const base = line << 6;
  return bitsBetween(address > base ? address - base : 0, min(end - base, 64));
}

/** Records touched bytes of a freed block in a line. Returns false if there is no room. */
function keepInLine(line: u32, key: u32, mask: u64): bool {
  const head: usize = HEADS + (line << 2);
  let ownEntry: usize = 0;
  for (let at = load<u32>(head); at !== 0; at = load<u32>(entryAt(at), Freed.next))
    if (load<u32>(entryAt(at), Freed.key) === key) ownEntry = entryAt(at);
  if (ownEntry === 0) {
    const number = load<u32>(STATE, State.freed) + 1;
    if (number >= FREED_CAPACITY) {
      store<u32>(STATE, load<u32>(STATE, State.freedLost) + 1, State.freedLost);
      return false;
    }
    store<u32>(STATE, number, State.freed);
    ownEntry = entryAt(number);
    store<u32>(ownEntry, key, Freed.key);
    store<u32>(ownEntry, load<u32>(head), Freed.next);
    store<u64>(ownEntry, 0, Freed.mask);
    store<u32>(ownEntry, line, Freed.line);
    store<u32>(head, number);
  }
  for (let at = load<u32>(head); at !== 0; at = load<u32>(entryAt(at), Freed.next)) {
    const entry = entryAt(at);
    const before = load<u64>(entry, Freed.mask);
    store<u64>(entry, entry === ownEntry ? before | mask : before & ~mask, Freed.mask);
  }
  return true;
}

@inline
export function entryAt(number: u32): usize {
  return FREED + number * FREED_BYTES;
}

/**
 * Returns the bytes of a line that were touched in the open interval, as bits of a u64; the first byte is the lowest.
 */
@inline
export function touchedBytes(line: u32): u64 {
  const at: usize = BYTES + (line << 6);
  const none = i8x16.splat(0);
  const a = v128.load(at);
  const b = v128.load(at, 16);
  const c = v128.load(at, 32);
  const d = v128.load(at, 48);
  if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) return 0;
  return (
    <u64>(<u32>i8x16.bitmask(i8x16.ne(a, none))) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(b, none)))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(c, none)))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(i8x16.ne(d, none)))) << 48)
  );
}

@inline
export function touchedInBlock(line: u32): u64 {
  const at: usize = BYTES + (line << 6);
  const ones = i8x16.splat(1);
  const a = i8x16.eq(v128.load(at), ones);
  const b = i8x16.eq(v128.load(at, 16), ones);
  const c = i8x16.eq(v128.load(at, 32), ones);
  const d = i8x16.eq(v128.load(at, 48), ones);
  if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) return 0;
  return (
    <u64>(<u32>i8x16.bitmask(a)) |
    ((<u64>(<u32>i8x16.bitmask(b))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(c))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(d))) << 48)
  );
}

/** Marks the touched bytes of a range as touched before their current block. */
function touchedBefore(address: u32, end: u32): void {
  let at: usize = BYTES + address;
  const last: usize = BYTES + end;
  for (; at + 16 <= last; at += 16) {
    const marks = v128.load(at);
    if (v128.any_true(marks)) v128.store(at, v128.and(i8x16.gt_u(marks, i8x16.splat(0)), i8x16.splat(2)));
  }
  if (at + 8 <= last) {
    const marks = load<u64>(at);
    if (marks !== 0) store<u64>(at, ((marks | (marks >>> 1)) & ONES) << 1);
    at += 8;
  }
  for (; at < last; at++) if (load<u8>(at) !== 0) store<u8>(at, 2);
}

const ONES: u64 = 0x0101010101010101;

/** Clears the marks of a range's bytes that were touched in their current block. */
function forgetInBlock(address: u32, end: u32): void {
  let at: usize = BYTES + address;
  const last: usize = BYTES + end;
  for (; at + 8 <= last; at += 8) {
    const marks = load<u64>(at);
    if ((marks & ONES) !== 0) store<u64>(at, marks & ~ONES);
  }
  for (; at < last; at++) if (load<u8>(at) === 1) store<u8>(at, 0);
}

@inline
export function clearLine(line: u32): void {
  const at: usize = BYTES + (line << 6);
  const none = i8x16.splat(0);
  v128.store(at, none);
  v128.store(at, none, 16);
  v128.store(at, none, 32);
  v128.store(at, none, 48);
}

@inline
function bitsBetween(from: u32, to: u32): u64 {
  return (u64.MAX_VALUE >>> (64 - <u64>(to - from))) << (<u64>from);
}
