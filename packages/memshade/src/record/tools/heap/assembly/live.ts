import { CONTROL, MIBS, PASTS, RECORD_CAPACITY } from "./imports";
import { CONTEXT_BYTES, Context, Control, LIVE_BLOCK_BITS, PAST_BYTES, Past } from "./layout.generated";

// Live bytes only fall when a block is released, so a maximum is noticed there, just before; growth goes unwatched. What a
// context held at the peak is kept when its live figures change for the first time after it.

const BYTES_SHIFT: u64 = LIVE_BLOCK_BITS;
const BLOCKS_MASK: u64 = (1 << LIVE_BLOCK_BITS) - 1;

/** One block of `size` bytes as part of the sums of live ones. */
@inline
export function liveUnit(size: u32): u64 {
  return ((<u64>size) << BYTES_SHIFT) | 1;
}

@inline
export function blocksOf(unit: u64): u32 {
  return <u32>(unit & BLOCKS_MASK);
}

@inline
export function bytesOf(unit: u64): u64 {
  return unit >> BYTES_SHIFT;
}

/** What is live of a context. */
@inline
export function liveOf(mib: usize): u64 {
  return load<u64>(mib, Context.allocated) - load<u64>(mib, Context.freed);
}

@inline
export function pastOf(mib: usize): usize {
  return PASTS + ((mib - MIBS) / CONTEXT_BYTES) * PAST_BYTES;
}

/** How many more blocks can be followed. */
@inline
export function roomLeft(): u32 {
  return RECORD_CAPACITY - 1 - blocksOf(load<u64>(CONTROL, Control.live));
}

/** A context that has changed in the open interval, but not since the last peak, is about to change. */
@inline
export function keepPeak(mib: usize): void {
  store<u64>(pastOf(mib), liveOf(mib), Past.peak);
  store<u32>(mib, load<u32>(CONTROL, Control.stamp), Context.stamp);
}

/** Looks for a maximum from here on: more than what is live now. */
@inline
export function beginMaximum(live: u64): void {
  store<u64>(CONTROL, live, Control.intervalPeak);
  store<u64>(CONTROL, live | BLOCKS_MASK, Control.peakLimit);
}

/** Notices a maximum, because something is about to be released or the figures are about to be read. */
@inline
export function noticePeak(): u64 {
  const live = load<u64>(CONTROL, Control.live);
  if (live > load<u64>(CONTROL, Control.peakLimit)) {
    beginMaximum(live);
    if (live > (load<u64>(CONTROL, Control.peak) | BLOCKS_MASK)) {
      const stamp = load<u32>(CONTROL, Control.stamp) + 1;
      store<u64>(CONTROL, live, Control.peak);
      store<u32>(CONTROL, stamp, Control.stamp);
      store<u32>(CONTROL, stamp, Control.peakStamp);
    }
  }
  return live;
}
