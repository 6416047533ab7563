import { CONTROL, RECORD_CAPACITY } from "./imports";
import { Context, Control, LIVE_BLOCK_BITS } from "./layout.generated";

// Live bytes only fall when a block is released, so a peak is noticed there, just before; growth goes unwatched. What a
// context held at the peak is kept when its live figures change for the first time after it.

const BYTES_SHIFT: u64 = LIVE_BLOCK_BITS;
const BLOCKS_MASK: u64 = (1 << LIVE_BLOCK_BITS) - 1;

/** One block of `size` bytes as part of the sums of live ones. */
@inline
export function liveUnit(size: u32): u64 {
  return ((<u64>size) << BYTES_SHIFT) | 1;
}

/** Whether one more block can be followed. */
@inline
export function hasRoom(live: u64): bool {
  return (<u32>live & <u32>BLOCKS_MASK) < RECORD_CAPACITY - 1;
}

/** The live figures of a context are about to change. */
@inline
export function keepPeak(mib: usize): void {
  const stamp = load<u32>(CONTROL, Control.peakStamp);
  if (load<u32>(mib, Context.peakStamp) === stamp) return;
  store<u64>(mib, load<u64>(mib, Context.live), Context.peak);
  store<u32>(mib, stamp, Context.peakStamp);
}

/** Notices a peak, because something is about to be released or the figures are about to be read. */
@inline
export function noticePeak(): u64 {
  const live = load<u64>(CONTROL, Control.live);
  if (live > load<u64>(CONTROL, Control.peakLimit)) {
    store<u64>(CONTROL, live, Control.peak);
    store<u64>(CONTROL, live | BLOCKS_MASK, Control.peakLimit);
    store<u32>(CONTROL, load<u32>(CONTROL, Control.peakStamp) + 1, Control.peakStamp);
  }
  return live;
}
