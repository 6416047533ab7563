import { CONTROL, HISTOGRAMS, HISTOGRAMS_END } from "./imports";
import { Context, Control } from "./layout.generated";

const SMALLEST_CLASS: u32 = 3;

/** A buffer of 2^class entries of 8 bytes; 0 when the region is used up. */
function takeBuffer(sizeClass: u32): u32 {
  const list: usize = CONTROL + Control.histogramFree + sizeClass * 4;
  const free = load<u32>(list);
  if (free !== 0) {
    store<u32>(list, load<u32>(free));
    return free;
  }
  const bytes: u32 = 8 << sizeClass;
  const at = HISTOGRAMS + load<u32>(CONTROL, Control.histogramNext);
  if (bytes > HISTOGRAMS_END - at) return 0;
  store<u32>(CONTROL, at + bytes - HISTOGRAMS, Control.histogramNext);
  return at;
}

/** Makes room for `length` entries. The longer histogram of two is kept: entries only ever get added. */
function ensureLength(mib: usize, length: u32): bool {
  const have = load<u32>(mib, Context.histogramLength);
  let buffer = load<u32>(mib, Context.histogram);
  const sizeClass = load<u32>(mib, Context.histogramClass);
  if (buffer === 0 || length > (<u32>1) << sizeClass) {
    let wanted = SMALLEST_CLASS;
    while ((<u32>1) << wanted < length) wanted++;
    const bigger = wanted < 28 ? takeBuffer(wanted) : 0;
    if (bigger === 0) return false;
    if (buffer !== 0) {
      memory.copy(bigger, buffer, have * 8);
      const list: usize = CONTROL + Control.histogramFree + sizeClass * 4;
      store<u32>(buffer, load<u32>(list));
      store<u32>(list, buffer);
    }
    buffer = bigger;
    store<u32>(mib, buffer, Context.histogram);
    store<u32>(mib, wanted, Context.histogramClass);
  }
  memory.fill(buffer + have * 8, 0, (length - have) * 8);
  store<u32>(mib, length, Context.histogramLength);
  return true;
}

/** Adds the counters of an ending block, granule by granule, to its context's histogram. */
export function addHistogram(mib: usize, address: u32, size: u32): void {
  const length = (size + 7) >>> 3;
  if (length > load<u32>(mib, Context.histogramLength) && !ensureLength(mib, length)) {
    store<u32>(CONTROL, load<u32>(CONTROL, Control.histogramDropped) + 1, Control.histogramDropped);
    return;
  }
  const buffer = load<u32>(mib, Context.histogram);
  const counters: usize = (address >>> 3) << 2;
  for (let i: u32 = 0; i < length; i++) {
    const count = load<u32>(counters + (i << 2)) >>> 1;
    if (count !== 0) store<u64>(buffer + (i << 3), load<u64>(buffer + (i << 3)) + count);
  }
}
