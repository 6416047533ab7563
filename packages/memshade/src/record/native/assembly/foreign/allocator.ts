// Finds the object that defines the next `malloc`. Calls from inside that object are its own.
import { Header, NextWord, Text } from "../layout.generated";
import { dlFindObject, load64, scratch, text } from "../machine";
import { countUnrecorded } from "../threads";

// Offsets in the result of `_dl_find_object`, and the result's offset in the scratch page, whose start is
// used elsewhere.
const FOUND: u64 = 256;
const MAP_START: u64 = 8;
const MAP_END: u64 = 16;

export function isOfAllocator(address: u64): bool {
  if (load<u64>(Header.allocatorEnd) === 0) {
    const found = scratch() + FOUND;
    if (dlFindObject(load64(text() + Text.next + 8 * NextWord.malloc), found) !== 0) return false;
    store<u64>(Header.allocatorStart, load64(found + MAP_START));
    store<u64>(Header.allocatorEnd, load64(found + MAP_END));
  }
  return address >= load<u64>(Header.allocatorStart) && address < load<u64>(Header.allocatorEnd);
}

/** Counts a call from inside a hook, unless the allocator made it. */
export function countInside(caller: u64): void {
  if (!isOfAllocator(caller)) countUnrecorded();
}
