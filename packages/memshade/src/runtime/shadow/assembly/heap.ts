import { allocatedAnyhow, endBlock, releasedAnyhow } from "./blocks";
import { knownContext } from "./known-context";
import {
  C_ALLOCATIONS, C_FAST_END, C_LIVE, CONTROL, LARGEST_SMALL, M_LIVE, M_PATTERN, M_RUN_SIZE, R_ADDRESS, R_MIB,
  R_NEXT, R_SIZE, R_TIME, RECORDS,
} from "./layout";
import { keepPeak, liveUnit, noticePeak } from "./live";
import { slotOf } from "./records";
import { addToRun } from "./runs";
import { clear, highCounters, lowCounters, maskOf } from "./small-counters";

// These two run with every block, so every instruction counts. They do the common case: a small block where there was
// one before, from a context that is known. Everything else is found out before the first store and left to functions
// that can do all cases. Nothing else is called: calls would keep values out of registers.

/** A block of `size` bytes was handed out at `address` (0: the allocation failed) to the newest frame's call. */
export function allocated(address: u32, size: u32, frame: u32, self: u32): void {
  if (size - 1 < LARGEST_SMALL && address < load<u32>(CONTROL, C_FAST_END)) {
    const record: usize = RECORDS + load<u32>(slotOf(address));
    // An ended block's record that is alone at its slot. So its address is aligned and lies in reach.
    if (load<u32>(record, R_ADDRESS) == address && load<u32>(record, R_SIZE) == 0) {
      const mib = knownContext(frame);
      const at = address >>> 1;
      const mask = maskOf(size);
      if (mib != 0 && !v128.any_true(v128.or(lowCounters(at, mask), highCounters(at, mask)))) {
        const time = load<u64>(CONTROL, C_ALLOCATIONS) + 1;
        store<u64>(CONTROL, time, C_ALLOCATIONS);
        store<u32>(record, size, R_SIZE);
        store<u32>(record, mib, R_MIB);
        store<u32>(record, <u32>time, R_TIME);
        keepPeak(mib);
        const unit = liveUnit(size);
        store<u64>(mib, load<u64>(mib, M_LIVE) + unit, M_LIVE);
        store<u64>(CONTROL, load<u64>(CONTROL, C_LIVE) + unit, C_LIVE);
        return;
      }
    }
  }
  allocatedAnyhow(address, size, frame, self);
}

/** The program gives a block back. Called before the allocator's own function runs. */
export function released(address: u32): void {
  if (address < load<u32>(CONTROL, C_FAST_END)) {
    const record: usize = RECORDS + load<u32>(slotOf(address));
    const size = load<u32>(record, R_SIZE);
    if (load<u32>(record, R_ADDRESS) == address && size != 0) {
      const mib: usize = load<u32>(record, R_MIB);
      if (load<u32>(mib, M_RUN_SIZE) == size && load<u64>(record, R_NEXT) == 0) {
        const at = address >>> 1;
        const mask = maskOf(size);
        const low = lowCounters(at, mask);
        const high = highCounters(at, mask);
        const differs = v128.or(
          v128.xor(low, v128.load(mib, M_PATTERN)),
          v128.xor(high, v128.load(mib, M_PATTERN + 16)),
        );
        if (!v128.any_true(differs)) {
          clear(at, mask);
          store<u32>(record, 0, R_SIZE);
          store<u64>(CONTROL, noticePeak() - liveUnit(size), C_LIVE);
          keepPeak(mib);
          addToRun(mib, load<u32>(record, R_TIME), load<u32>(CONTROL, C_ALLOCATIONS));
          return;
        }
      }
      endBlock(record, false);
      return;
    }
  }
  releasedAnyhow(address, false);
}
