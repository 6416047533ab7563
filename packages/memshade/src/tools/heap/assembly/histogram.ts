import {
  C_HISTOGRAM_DROPPED, C_HISTOGRAM_FREE, C_HISTOGRAM_NEXT, CONTROL, HISTOGRAMS, HISTOGRAMS_END, M_HISTOGRAM,
  M_HISTOGRAM_CLASS, M_HISTOGRAM_LENGTH,
} from "./layout";

const SMALLEST_CLASS: u32 = 3;

/** A buffer of 2^class entries of 8 bytes; 0 when the region is used up. */
function takeBuffer(sizeClass: u32): u32 {
  const list: usize = CONTROL + C_HISTOGRAM_FREE + sizeClass * 4;
  const free = load<u32>(list);
  if (free != 0) {
    store<u32>(list, load<u32>(free));
    return free;
  }
  const bytes: u32 = 8 << sizeClass;
  const at = HISTOGRAMS + load<u32>(CONTROL, C_HISTOGRAM_NEXT);
  if (bytes > HISTOGRAMS_END - at) return 0;
  store<u32>(CONTROL, at + bytes - HISTOGRAMS, C_HISTOGRAM_NEXT);
  return at;
}

/** Makes room for `length` entries. The longer histogram of two is kept: entries only ever get added. */
function ensureLength(mib: usize, length: u32): bool {
  const have = load<u32>(mib, M_HISTOGRAM_LENGTH);
  let buffer = load<u32>(mib, M_HISTOGRAM);
  const sizeClass = load<u32>(mib, M_HISTOGRAM_CLASS);
  if (buffer == 0 || length > <u32>1 << sizeClass) {
    let wanted = SMALLEST_CLASS;
    while (<u32>1 << wanted < length) wanted++;
    const bigger = wanted < 28 ? takeBuffer(wanted) : 0;
    if (bigger == 0) return false;
    if (buffer != 0) {
      memory.copy(bigger, buffer, have * 8);
      const list: usize = CONTROL + C_HISTOGRAM_FREE + sizeClass * 4;
      store<u32>(buffer, load<u32>(list));
      store<u32>(list, buffer);
    }
    buffer = bigger;
    store<u32>(mib, buffer, M_HISTOGRAM);
    store<u32>(mib, wanted, M_HISTOGRAM_CLASS);
  }
  memory.fill(buffer + have * 8, 0, (length - have) * 8);
  store<u32>(mib, length, M_HISTOGRAM_LENGTH);
  return true;
}

/** Adds the counters of an ending block, granule by granule, to its context's histogram. */
export function addHistogram(mib: usize, address: u32, size: u32): void {
  const length = (size + 7) >>> 3;
  if (length > load<u32>(mib, M_HISTOGRAM_LENGTH) && !ensureLength(mib, length)) {
    store<u32>(CONTROL, load<u32>(CONTROL, C_HISTOGRAM_DROPPED) + 1, C_HISTOGRAM_DROPPED);
    return;
  }
  const buffer = load<u32>(mib, M_HISTOGRAM);
  const counters: usize = (address >>> 3) << 2;
  for (let i: u32 = 0; i < length; i++) {
    const count = load<u32>(counters + (i << 2)) >>> 1;
    if (count != 0) store<u64>(buffer + (i << 3), load<u64>(buffer + (i << 3)) + count);
  }
}
