import { knownContext } from "./calls";
import { alignedCounterPlace } from "./counter-memory";
import { CONTROL, COUNTED, MIB_CAPACITY, MIBS, otherwise } from "./imports";
import {
  CONTEXT_BYTES,
  Context,
  Control,
  LARGEST_SMALL,
  LARGEST_UNMARKED,
  Shape,
  Slot,
  Tag,
} from "./layout.generated";
import { keepPeak, liveUnit, noticePeak } from "./live";
import { LARGEST_IN_SLOT } from "./places";
import { Address, END } from "./program";
import { bump32, mibOfTag, placeDifference, regionOf, sizeOfTag, slotIn, tagOf } from "./records";
import { addToShape, anyCounter, counterAt, lastOf, mixSmall, ownerOf, shapeOf, takeSmall } from "./shapes";

// The two functions below run for every block, so every instruction counts. They are compiled apart from the rest
// and written into the hooks of allocation functions.
// They handle the common case of the usual profile: a block of at most half a KiB begins in a known context
// that has changed in this interval, or a small block ends. All checks come before the first store, except
// that a peak may be stored at any time. If a check fails, a function that handles all cases takes over
// (`otherwise`).
// Each branch has one comparison, because a joined condition first turns both results into numbers.

/**
 * Records a block of `size` bytes at `address` (0: the allocation failed), allocated by the call of the
 * newest frame.
 */
export function allocated(address: Address, size: u32, frame: u32): void {
  if (size - 1 >= LARGEST_IN_SLOT) {
    otherwise();
    return;
  }
  // The address is null, or so high that the block might end beyond the covered memory.
  if (address - 1 >= END - LARGEST_UNMARKED) {
    otherwise();
    return;
  }
  const region = regionOf(address);
  if (region === 0) {
    otherwise();
    return;
  }
  const slot = slotIn(region, address);
  if ((load<u32>(slot, Slot.tag) | (<u32>address & 7)) !== 0) {
    otherwise();
    return;
  }
  const allocations = load<u64>(CONTROL, Control.allocations);
  if (<u32>allocations >= load<u32>(CONTROL, Control.limit)) {
    otherwise();
    return;
  }
  const mib = knownContext(frame);
  if (mib === 0) {
    otherwise();
    return;
  }
  if (MIB_CAPACITY > Tag.contexts) {
    if (mib >= MIBS + Tag.contexts * CONTEXT_BYTES) {
      otherwise();
      return;
    }
  }
  if (COUNTED !== 0) {
    if (anyCounter(alignedCounterPlace(address), size)) {
      otherwise();
      return;
    }
  }
  if (load<u32>(mib, Context.stamp) !== load<u32>(CONTROL, Control.stamp)) {
    if (load<u32>(mib, Context.stamp) < load<u32>(CONTROL, Control.intervalStamp)) {
      otherwise();
      return;
    }
    keepPeak(mib);
  }
  const time = allocations + 1;
  store<u64>(CONTROL, time, Control.allocations);
  store<u64>(slot, <u64>(<u32>time) | ((<u64>tagOf(mib, size, address)) << 32), Slot.time);
  const unit = liveUnit(size);
  store<u64>(mib, load<u64>(mib, Context.allocated) + unit, Context.allocated);
  store<u64>(CONTROL, load<u64>(CONTROL, Control.live) + unit, Control.live);
}

/** Ends a block. Runs before the allocator's own function. */
export function released(address: Address): void {
  if (address - 1 >= END - 1) {
    if (address === 0) bump32(CONTROL, Control.nullFrees, 1);
    else otherwise();
    return;
  }
  const region = regionOf(address);
  if (region === 0) {
    otherwise();
    return;
  }
  const slot = slotIn(region, address);
  const tag = load<u32>(slot, Slot.tag);
  if (placeDifference(tag, address) !== 0) {
    otherwise();
    return;
  }
  const size = sizeOfTag(tag);
  if (size - 1 >= LARGEST_SMALL) {
    otherwise();
    return;
  }
  // A tag of a chain of records is safe here: no shape has it as its owner.
  const at = alignedCounterPlace(address);
  const owner = ownerOf(tag, false);
  const first = counterAt(at);
  const last = counterAt(at + lastOf(size));
  const shape = shapeOf(owner, mixSmall(first, last));
  if (load<u32>(shape, Shape.owner) !== owner) {
    otherwise();
    return;
  }
  const mib = mibOfTag(tag);
  const live = noticePeak();
  if (load<u32>(mib, Context.stamp) !== load<u32>(CONTROL, Control.stamp)) {
    if (load<u32>(mib, Context.stamp) < load<u32>(CONTROL, Control.intervalStamp)) {
      otherwise();
      return;
    }
    keepPeak(mib);
  }
  if (COUNTED !== 0) {
    if (!takeSmall(at, size, first, last, shape)) {
      otherwise();
      return;
    }
  }
  store<u32>(slot, 0, Slot.tag);
  const unit = liveUnit(size);
  store<u64>(CONTROL, live - unit, Control.live);
  store<u64>(mib, load<u64>(mib, Context.freed) + unit, Context.freed);
  addToShape(shape, mib, load<u32>(slot, Slot.time), load<u32>(CONTROL, Control.allocations));
}
