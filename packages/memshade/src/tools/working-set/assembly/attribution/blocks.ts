// The live blocks of the program's heap, as far as lines ask for them, and what was touched of those that were freed.
import {
  A_BLOCK_FREE,
  A_BLOCK_NEXT,
  A_BLOCKS_LOST,
  A_REQUEST,
  A_SETTLED,
  A_SETTLED_LOST,
  B_ADDRESS,
  B_KEY,
  B_NEXT,
  B_SIZE,
  BLOCK_CAPACITY,
  BLOCK_SIZE,
  BLOCKS,
  COVERED,
  FIRSTS,
  HEADS,
  SETTLED,
  SETTLED_CAPACITY,
  SETTLED_SIZE,
  slot,
  STARTS,
  STATE,
  T_KEY,
  T_LINE,
  T_MASK,
  T_NEXT,
  UNKNOWN_SITE,
} from "./layout";
import { bitsBetween, forgetInBlock, touchedBefore, touchedInBlock } from "./masks";

/** Before an allocation: whoever called asked for it. */
export function requested(): void {
  store<u32>(STATE, slot(), A_REQUEST);
}

/** Behind it; the address is 0 where it failed. `zeroedBy` is 0 if nothing of the block was written by the allocator. */
export function allocated(address: u32, size: u32, zeroedBy: u32): void {
  if (address == 0 || size == 0) return;
  const end = <u64>address + size;
  if (end > COVERED) return;
  const start: usize = STARTS + ((address >>> 3) << 2);
  // Whoever allocates where a block is has freed that unseen.
  if (load<u32>(start) != 0) forget(load<u32>(start));
  const number = newNumber();
  if (number == 0) return;
  const block: usize = BLOCKS + number * BLOCK_SIZE;
  const request = load<u32>(STATE, A_REQUEST);
  store<u32>(block, address, B_ADDRESS);
  store<u32>(block, size, B_SIZE);
  store<u32>(block, request == 0 ? UNKNOWN_SITE : request, B_KEY);
  store<u32>(start, number);
  noteLines(address, size, number);
  // The allocator has touched what is now in the block.
  if (zeroedBy == 0) touchedBefore(address, <u32>end);
}

/** Before a release. */
export function released(address: u32): void {
  const number = blockAt(address);
  if (number == 0) return;
  settle(number);
  forget(number);
}

/** Behind a reallocation, whose new address is 0 where it failed. */
export function reallocated(old: u32, address: u32, size: u32): void {
  if (address == 0 && size != 0) return;
  const number = blockAt(old);
  if (number != 0 && address != old) settle(number);
  if (number != 0) forget(number);
  allocated(address, size, 1);
}

function blockAt(address: u32): u32 {
  if (address == 0 || address >= COVERED) return 0;
  const number = load<u32>(STARTS + ((address >>> 3) << 2));
  return number != 0 && load<u32>(BLOCKS + number * BLOCK_SIZE, B_ADDRESS) == address ? number : 0;
}

function newNumber(): u32 {
  const free = load<u32>(STATE, A_BLOCK_FREE);
  if (free != 0) {
    store<u32>(STATE, load<u32>(BLOCKS + free * BLOCK_SIZE, B_NEXT), A_BLOCK_FREE);
    return free;
  }
  const next = load<u32>(STATE, A_BLOCK_NEXT) + 1;
  if (next >= BLOCK_CAPACITY) {
    store<u32>(STATE, load<u32>(STATE, A_BLOCKS_LOST) + 1, A_BLOCKS_LOST);
    return 0;
  }
  store<u32>(STATE, next, A_BLOCK_NEXT);
  return next;
}

/** The lines that a block goes on in have its number, or another one in place of it. */
function noteLines(address: u32, size: u32, number: u32): void {
  const last = (address + size - 1) >>> 6;
  for (let line = (address >>> 6) + 1; line <= last; line++) store<u32>(FIRSTS + (line << 2), number);
}

function forget(number: u32): void {
  const block: usize = BLOCKS + number * BLOCK_SIZE;
  const address = load<u32>(block, B_ADDRESS);
  store<u32>(STARTS + ((address >>> 3) << 2), 0);
  noteLines(address, load<u32>(block, B_SIZE), 0);
  store<u32>(block, 0, B_ADDRESS);
  store<u32>(block, load<u32>(STATE, A_BLOCK_FREE), B_NEXT);
  store<u32>(STATE, number, A_BLOCK_FREE);
}

/** What was touched of a block counts for it, unless another block is touched at the same place in this interval. */
function settle(number: u32): void {
  const block: usize = BLOCKS + number * BLOCK_SIZE;
  const address = load<u32>(block, B_ADDRESS);
  const end = address + load<u32>(block, B_SIZE);
  const key = load<u32>(block, B_KEY);
  for (let line = address >>> 6; line << 6 < end; line++) {
    const touched = touchedInBlock(line);
    if (touched == 0) continue;
    const mask = touched & bitsInside(line, address, end);
    if (mask != 0 && settleIn(line, key, mask)) forgetInBlock(max(address, line << 6), min(end, (line + 1) << 6));
  }
}

/** The bytes of a line from `address` to `end` − 1; there are some. */
@inline
export function bitsInside(line: u32, address: u32, end: u32): u64 {
  const base = line << 6;
  return bitsBetween(address > base ? address - base : 0, min(end - base, 64));
}

/** Whether there was room. */
function settleIn(line: u32, key: u32, mask: u64): bool {
  const head: usize = HEADS + (line << 2);
  let own: usize = 0;
  for (let at = load<u32>(head); at != 0; at = load<u32>(entryAt(at), T_NEXT))
    if (load<u32>(entryAt(at), T_KEY) == key) own = entryAt(at);
  if (own == 0) {
    const number = load<u32>(STATE, A_SETTLED) + 1;
    if (number >= SETTLED_CAPACITY) {
      store<u32>(STATE, load<u32>(STATE, A_SETTLED_LOST) + 1, A_SETTLED_LOST);
      return false;
    }
    store<u32>(STATE, number, A_SETTLED);
    own = entryAt(number);
    store<u32>(own, key, T_KEY);
    store<u32>(own, load<u32>(head), T_NEXT);
    store<u64>(own, 0, T_MASK);
    store<u32>(own, line, T_LINE);
    store<u32>(head, number);
  }
  for (let at = load<u32>(head); at != 0; at = load<u32>(entryAt(at), T_NEXT)) {
    const entry = entryAt(at);
    const before = load<u64>(entry, T_MASK);
    store<u64>(entry, entry == own ? before | mask : before & ~mask, T_MASK);
  }
  return true;
}

@inline
export function entryAt(number: u32): usize {
  return SETTLED + number * SETTLED_SIZE;
}
