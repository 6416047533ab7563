// Ranges that the program has mapped, sorted by address. The start of each range is the address of a block in
// the heap's tables. Call all functions under the lock.
import { allocatedAnyhow, reallocated } from "../../../tools/heap/assembly/blocks";
import { contextAt } from "../../../tools/heap/assembly/live";
import { bump64 } from "../../../tools/heap/assembly/records";
import * as blocks from "../blocks";
import { Header, Mapping, MAPPING_BYTES, MOST_MAPPINGS, Place } from "../layout.generated";
import { countUnrecorded } from "../threads";

const PAGE_BYTES: u64 = 4096;

@inline
function rangeAt(index: u32): usize {
  return Place.mappings + index * MAPPING_BYTES;
}
@inline
function startOf(index: u32): u64 {
  return load<u64>(rangeAt(index), Mapping.start);
}
@inline
function endOf(index: u32): u64 {
  return load<u64>(rangeAt(index), Mapping.end);
}
@inline
function wholePages(length: u64): u64 {
  return (length + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/** Returns the number of ranges that end at or before an address. */
function rangesBefore(address: u64): u32 {
  let low: u32 = 0;
  let high = load<u32>(Header.mappings);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endOf(middle) <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert(index: u32, start: u64, end: u64): void {
  const count = load<u32>(Header.mappings);
  memory.copy(rangeAt(index + 1), rangeAt(index), (count - index) * MAPPING_BYTES);
  store<u64>(rangeAt(index), start, Mapping.start);
  store<u64>(rangeAt(index), end, Mapping.end);
  store<u32>(Header.mappings, count + 1);
}

function remove(index: u32): void {
  const count = load<u32>(Header.mappings) - 1;
  memory.copy(rangeAt(index), rangeAt(index + 1), (count - index) * MAPPING_BYTES);
  store<u32>(Header.mappings, count);
}

/** Unmapping the middle of a range makes one more range. */
@inline
function isRoom(): bool {
  return load<u32>(Header.mappings) + 2 < MOST_MAPPINGS;
}

/** Records a range that the walked stack has mapped. It replaces any range at the same addresses. */
export function mapped(thread: u32, start: u64, length: u64): void {
  const end = start + wholePages(length);
  unmapped(thread, start, length);
  if (isLarge(start, end)) return;
  if (!isRoom()) {
    countUnrecorded();
    return;
  }
  blocks.begin(thread, start, end - start);
  insert(rangesBefore(start), start, end);
}

/** Counts a range that is larger than a block can be. Such a range is no block, most likely a reservation. */
function isLarge(start: u64, end: u64): bool {
  if ((end - start) >> 32 === 0) return false;
  bump64(Header.largeRanges, 0, 1);
  bump64(Header.largeRangeBytes, 0, end - start);
  return true;
}

/**
 * Ends a range. The first remaining part of a block stays that block; the last part becomes a block of the
 * same context.
 */
export function unmapped(thread: u32, start: u64, length: u64): void {
  const end = start + wholePages(length);
  let index = rangesBefore(start);
  while (index < load<u32>(Header.mappings) && startOf(index) < end) {
    const first = startOf(index);
    const last = endOf(index);
    const mib = contextAt(first);
    remove(index);
    if (mib === 0) continue;
    if (first < start) {
      reallocated(first, first, <u32>(start - first), thread, <u32>mib);
      insert(index++, first, start);
      blocks.disown(start, min(end, last) - start, mib);
    } else blocks.end(first);
    if (last > end && isRoom()) {
      allocatedAnyhow(end, <u32>(last - end), thread, <u32>mib);
      blocks.own(end, last - end, mib);
      insert(index++, end, last);
    }
  }
}

/** Records that the walked stack has moved or resized a range. */
export function remapped(thread: u32, old: u64, oldLength: u64, start: u64, length: u64): void {
  const oldEnd = old + wholePages(oldLength);
  const index = rangesBefore(old);
  const isWhole = index < load<u32>(Header.mappings) && startOf(index) === old && endOf(index) === oldEnd;
  if (!isWhole) {
    unmapped(thread, old, oldLength);
    mapped(thread, start, length);
    return;
  }
  remove(index);
  if (start !== old) unmapped(thread, start, length);
  const end = start + wholePages(length);
  if (isLarge(start, end)) {
    blocks.end(old);
    return;
  }
  blocks.takeOut(thread, old);
  blocks.change(thread, old, start, end - start);
  insert(rangesBefore(start), start, end);
}
