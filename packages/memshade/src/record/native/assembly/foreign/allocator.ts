// The object that has the next `malloc`. What it calls itself is its own business.
import { Header, NextWord, Text } from "../layout.generated";
import { dlFindObject, load64, scratch, text } from "../machine";
import { countUnrecorded } from "../threads";

// What `_dl_find_object` fills in, and where on the scratch page: others use its beginning.
const FOUND: u64 = 256;
const MAP_START: u64 = 8;
const MAP_END: u64 = 16;

/** Whether an address is in it. */
export function isOfAllocator(address: u64): bool {
  if (load<u64>(Header.allocatorEnd) === 0) {
    const found = scratch() + FOUND;
    if (dlFindObject(load64(text() + Text.next + 8 * NextWord.malloc), found) !== 0) return false;
    store<u64>(Header.allocatorStart, load64(found + MAP_START));
    store<u64>(Header.allocatorEnd, load64(found + MAP_END));
  }
  return address >= load<u64>(Header.allocatorStart) && address < load<u64>(Header.allocatorEnd);
}

/** A call came from inside of a hook. */
export function countInside(caller: u64): void {
  if (!isOfAllocator(caller)) countUnrecorded();
}
