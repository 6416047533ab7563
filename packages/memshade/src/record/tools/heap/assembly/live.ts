import { CONTROL, MIBS, PASTS, RECORD_CAPACITY } from "./imports";
import { CONTEXT_BYTES, Context, Control, LIVE_BLOCK_BITS, PAST_BYTES, Past } from "./layout.generated";

// Live bytes fall only when a block is released, so a maximum is noticed just before a release, and growth
// needs no check. A context's live amount at the peak is stored when the context changes for the first time
// after the peak.

const BYTES_SHIFT: u64 = LIVE_BLOCK_BITS;
const BLOCKS_MASK: u64 = (1 << LIVE_BLOCK_BITS) - 1;

/** Returns one block of `size` bytes as a packed sum of bytes and blocks. */
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

@inline
export function liveOf(mib: usize): u64 {
  return load<u64>(mib, Context.allocated) - load<u64>(mib, Context.freed);
}

@inline
export function pastOf(mib: usize): usize {
  return PASTS + ((mib - MIBS) / CONTEXT_BYTES) * PAST_BYTES;
}

@inline
export function roomLeft(): u32 {
  return RECORD_CAPACITY - 1 - blocksOf(load<u64>(CONTROL, Control.live));
}

/**
 * Stores the peak amount of a context that is about to change for the first time since the last peak. It has
 * changed before in the open interval.
 */
@inline
export function keepPeak(mib: usize): void {
  store<u64>(pastOf(mib), liveOf(mib), Past.peak);
  store<u32>(mib, load<u32>(CONTROL, Control.stamp), Context.stamp);
}

/** Starts the search for a new maximum above the amount that is live now. */
@inline
export function beginMaximum(live: u64): void {
  store<u64>(CONTROL, live, Control.intervalPeak);
  store<u64>(CONTROL, live | BLOCKS_MASK, Control.peakLimit);
}

/** Notices a maximum before a release, or before the figures are read. Returns the live amount. */
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
