// The live blocks of the program's heap, as far as lines ask for them, and what was touched of those that were freed.
import {
  BLOCK_CAPACITY,
  BLOCKS,
  COVERED,
  FIRSTS,
  HEADS,
  FREED,
  FREED_CAPACITY,
  slot,
  STARTS,
  STATE,
} from "./imports";
import { BLOCK_BYTES, Block, Key, FREED_BYTES, Freed, State } from "./layout.generated";
import { bitsBetween, forgetInBlock, touchedBefore, touchedInBlock } from "./masks";

/** Before an allocation: notes the call that asks for it. */
export function requested(): void {
  store<u32>(STATE, slot(), State.request);
}

/** Behind an allocation; the address is 0 where it failed. `zeroedBy` is 0 if nothing of the block was written by the allocator. */
export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  if (address === 0 || size === 0) return;
  const end = <u64>address + size;
  if (end > COVERED) return;
  const start: usize = STARTS + ((address >>> 3) << 2);
  // Whoever allocates where a block is has freed that unseen.
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
  // The allocator has touched what is now in the block.
  if (zeroedBy === 0) touchedBefore(address, <u32>end);
}

/** Before a block is released. */
export function released(address: u32): void {
  const number = blockAt(address);
  if (number === 0) return;
  keepTouched(number);
  forget(number);
}

/** Behind a reallocation, whose new address is 0 where it failed. */
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

/** The lines that a block goes on in have its number, or another one in place of it. */
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

/** What was touched of a block counts for it, unless another block is touched at the same place in this interval. */
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

/** The bytes of a line from `address` to `end` − 1; there are some. */
@inline
export function bitsInside(line: u32, address: u32, end: u32): u64 {
  const base = line << 6;
  return bitsBetween(address > base ? address - base : 0, min(end - base, 64));
}

/** Notes touched bytes of a freed block in a line. Whether there was room. */
function keepInLine(line: u32, key: u32, mask: u64): bool {
  const head: usize = HEADS + (line << 2);
  let own: usize = 0;
  for (let at = load<u32>(head); at !== 0; at = load<u32>(entryAt(at), Freed.next))
    if (load<u32>(entryAt(at), Freed.key) === key) own = entryAt(at);
  if (own === 0) {
    const number = load<u32>(STATE, State.freed) + 1;
    if (number >= FREED_CAPACITY) {
      store<u32>(STATE, load<u32>(STATE, State.freedLost) + 1, State.freedLost);
      return false;
    }
    store<u32>(STATE, number, State.freed);
    own = entryAt(number);
    store<u32>(own, key, Freed.key);
    store<u32>(own, load<u32>(head), Freed.next);
    store<u64>(own, 0, Freed.mask);
    store<u32>(own, line, Freed.line);
    store<u32>(head, number);
  }
  for (let at = load<u32>(head); at !== 0; at = load<u32>(entryAt(at), Freed.next)) {
    const entry = entryAt(at);
    const before = load<u64>(entry, Freed.mask);
    store<u64>(entry, entry === own ? before | mask : before & ~mask, Freed.mask);
  }
  return true;
}

@inline
export function entryAt(number: u32): usize {
  return FREED + number * FREED_BYTES;
}
