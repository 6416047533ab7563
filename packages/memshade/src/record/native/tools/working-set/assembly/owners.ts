// Owners of memory, recorded by the allocator hooks of a native program under their lock. `layout.ts` has the words. A
// large block needs only one word per page that it fills.
import { load32, store32, store64, text } from "../../../assembly/machine";
import { Text } from "../../../assembly/layout.generated";
import {
  FREED,
  MIXED,
  OWNED_PAGE_SHIFT,
  OWNED_PAGES_BIT,
  OWNER_SHIFT,
  OWNER_WORD_BYTES,
  OWNERS_BIT,
} from "./layout.generated";

const PAGE_BYTES: u64 = 1 << OWNED_PAGE_SHIFT;

@inline
export function areOwnersNoted(): bool {
  return load32(text() + Text.isOwned) !== 0;
}

@inline
function pageWord(address: u64): u64 {
  return ((<u64>1) << OWNED_PAGES_BIT) + (address >>> OWNED_PAGE_SHIFT) * OWNER_WORD_BYTES;
}

@inline
function wordOf(address: u64): u64 {
  return ((<u64>1) << OWNERS_BIT) + (address >>> OWNER_SHIFT) * OWNER_WORD_BYTES;
}

export function ownBlock(address: u64, size: u64, context: u32): void {
  note(address, size, context + 1);
}

/**
 * Marks a block's words as freed just before its end. Lines touched earlier still count for its context until the next
 * snapshot.
 */
export function disownBlock(address: u64, size: u64, context: u32): void {
  // A block this small may share its 16 bytes with others.
  if (size <= 1 << (OWNER_SHIFT - 1)) return;
  note(address, size, (context + 1) | FREED);
}

function note(address: u64, size: u64, word: u32): void {
  const end = address + max(size, 1);
  while (address < end) {
    const next = (address & ~(PAGE_BYTES - 1)) + PAGE_BYTES;
    const page = pageWord(address);
    if (next - address === PAGE_BYTES && next <= end) store32(page, word);
    else {
      if ((load32(page) & MIXED) === 0) mix(page, next - PAGE_BYTES);
      const last = wordOf(min(next, end) - 1);
      for (let at = wordOf(address); at <= last; at += OWNER_WORD_BYTES) store32(at, word);
    }
    address = next;
  }
}

/** Makes a page use its words per 16 bytes from now on. */
function mix(page: u64, address: u64): void {
  const end = wordOf(address + PAGE_BYTES);
  for (let at = wordOf(address); at < end; at += 2 * OWNER_WORD_BYTES) store64(at, 0);
  // If `FREED` is not set, the end of the block that owned the whole page was missed.
  const owner = load32(page);
  store32(page, ((owner & FREED) !== 0 ? owner : 0) | MIXED);
}
