import {
  C_LIVE, C_PEAK, C_PEAK_LIMIT, C_PEAK_STAMP, CONTROL, M_LIVE, M_PEAK, M_PEAK_STAMP, RECORD_CAPACITY,
} from "./layout";

// Live bytes only fall when a block is released, so a peak is noticed there, just before; growth goes unwatched. What a
// context held at the peak is kept when its live figures change for the first time after it.

const BYTES_SHIFT: u64 = 26;
const BLOCKS_MASK: u64 = (1 << 26) - 1;

/** One block of `size` bytes as part of the sums of live ones. */
@inline
export function liveUnit(size: u32): u64 { return (<u64>size << BYTES_SHIFT) | 1; }

/** Whether one more block can be followed. */
@inline
export function hasRoom(live: u64): bool { return (<u32>live & <u32>BLOCKS_MASK) < RECORD_CAPACITY - 1; }

/** The live figures of a context are about to change. */
@inline
export function keepPeak(mib: usize): void {
  const stamp = load<u32>(CONTROL, C_PEAK_STAMP);
  if (load<u32>(mib, M_PEAK_STAMP) == stamp) return;
  store<u64>(mib, load<u64>(mib, M_LIVE), M_PEAK);
  store<u32>(mib, stamp, M_PEAK_STAMP);
}

/** Notices a peak, because something is about to be released or the figures are about to be read. */
@inline
export function noticePeak(): u64 {
  const live = load<u64>(CONTROL, C_LIVE);
  if (live > load<u64>(CONTROL, C_PEAK_LIMIT)) {
    store<u64>(CONTROL, live, C_PEAK);
    store<u64>(CONTROL, live | BLOCKS_MASK, C_PEAK_LIMIT);
    store<u32>(CONTROL, load<u32>(CONTROL, C_PEAK_STAMP) + 1, C_PEAK_STAMP);
  }
  return live;
}
