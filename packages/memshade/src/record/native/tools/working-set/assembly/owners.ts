// Whose memory is, as the hooks of a native program's allocator note it, under their lock. `layout.ts` has the words. Large blocks need no more
// than a word for each page that they fill.
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

/** A block of a context begins. */
export function ownBlock(address: u64, size: u64, context: u32): void {
  note(address, size, context + 1);
}

/** A block of a context is about to end: until somebody looks, what was touched of it counts for the context. */
export function disownBlock(address: u64, size: u64, context: u32): void {
  // Others may share the 16 bytes of so small a block.
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

/** Words of a page's 16 bytes count from here on. */
function mix(page: u64, address: u64): void {
  const end = wordOf(address + PAGE_BYTES);
  for (let at = wordOf(address); at < end; at += 2 * OWNER_WORD_BYTES) store64(at, 0);
  // Otherwise the block that had all of the page was not seen to end.
  const owner = load32(page);
  store32(page, ((owner & FREED) !== 0 ? owner : 0) | MIXED);
}
