import { knownContext } from "./known-context";
import {
  C_ALLOCATIONS, C_LIVE, C_NULL_FREES, CONTROL, COVERED, LARGEST_SMALL, LARGEST_UNMARKED, M_LIVE, MIB_CAPACITY, MIB_SIZE, MIBS,
  S_OWNER, SLOT_TAG, SLOT_TIME, TAG_CONTEXTS, TAG_PLACE_MASK,
} from "./layout";
import { hasRoom, keepPeak, liveUnit, noticePeak } from "./live";
import { bump32, mibOfTag, regionOf, sizeOfTag, slotIn, tagOf } from "./records";
import { addToShape, ownerOf, shapeOf } from "./shapes";
import { anyCounter, lastOf, mixSmall, takeSmall } from "./small-counters";

// These two run with every block, so every instruction counts. They are compiled apart from all else and written into the
// hooks of allocation functions. They do the common case of the usual profile: a block of at most half a KiB begins in a
// context that is known, a small one ends. Everything else is found out before the first store and left to functions that
// can do all cases. One comparison per branch: where two are joined, their results have to be made numbers first.

/** Leaves the hook for the function that can do all cases. */
@external("hook", "otherwise")
declare function otherwise(): void;

/** A block of `size` bytes was handed out at `address` (0: the allocation failed) to the newest frame's call. */
export function allocated(address: u32, size: u32, frame: u32): void {
  if (size - 1 >= LARGEST_UNMARKED) {
    otherwise();
    return;
  }
  // Null, or so high that the block might end out of reach.
  if (address - 1 >= COVERED - LARGEST_UNMARKED) {
    otherwise();
    return;
  }
  const region = regionOf(address);
  if (region == 0) {
    otherwise();
    return;
  }
  const slot = slotIn(region, address);
  if ((load<u32>(slot, SLOT_TAG) | (address & 7)) != 0) {
    otherwise();
    return;
  }
  const live = load<u64>(CONTROL, C_LIVE);
  if (!hasRoom(live)) {
    otherwise();
    return;
  }
  const mib = knownContext(frame);
  if (mib == 0) {
    otherwise();
    return;
  }
  if (MIB_CAPACITY > TAG_CONTEXTS) {
    if (mib >= MIBS + TAG_CONTEXTS * MIB_SIZE) {
      otherwise();
      return;
    }
  }
  if (anyCounter(address >>> 1, size)) {
    otherwise();
    return;
  }
  const time = load<u64>(CONTROL, C_ALLOCATIONS) + 1;
  store<u64>(CONTROL, time, C_ALLOCATIONS);
  store<u64>(slot, <u64><u32>time | (<u64>tagOf(mib, size, address) << 32), SLOT_TIME);
  keepPeak(mib);
  const unit = liveUnit(size);
  store<u64>(mib, load<u64>(mib, M_LIVE) + unit, M_LIVE);
  store<u64>(CONTROL, live + unit, C_LIVE);
}

/** The program gives a block back. Called before the allocator's own function runs. */
export function released(address: u32): void {
  if (address - 1 >= COVERED - 1) {
    if (address == 0) bump32(CONTROL, C_NULL_FREES, 1);
    else otherwise();
    return;
  }
  const region = regionOf(address);
  if (region == 0) {
    otherwise();
    return;
  }
  const slot = slotIn(region, address);
  const tag = load<u32>(slot, SLOT_TAG);
  if (((tag ^ address) & TAG_PLACE_MASK) != 0) {
    otherwise();
    return;
  }
  const size = sizeOfTag(tag);
  if (size - 1 >= LARGEST_SMALL) {
    otherwise();
    return;
  }
  // If the tag is that of a chain of records, no shape is its owner's.
  const at = address >>> 1;
  const owner = ownerOf(tag, false);
  const first = load<u32>(at);
  const last = load<u32>(at + lastOf(size));
  const shape = shapeOf(owner, mixSmall(first, last));
  if (load<u32>(shape, S_OWNER) != owner) {
    otherwise();
    return;
  }
  if (!takeSmall(at, size, first, last, shape)) {
    otherwise();
    return;
  }
  store<u32>(slot, 0, SLOT_TAG);
  const mib = mibOfTag(tag);
  const unit = liveUnit(size);
  store<u64>(CONTROL, noticePeak() - unit, C_LIVE);
  keepPeak(mib);
  store<u64>(mib, load<u64>(mib, M_LIVE) - unit, M_LIVE);
  addToShape(shape, mib, load<u32>(slot, SLOT_TIME), load<u32>(CONTROL, C_ALLOCATIONS));
}
