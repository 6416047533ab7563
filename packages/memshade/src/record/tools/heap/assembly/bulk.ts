import { CONTROL, EXACT, lock, SHARED, STATIC_BYTES, STATICS, unlock } from "./imports";
import { Control, FOLD_BYTES, FOLD_COUNT, Fold, Record } from "./layout.generated";
import { markPlace, markRange, SHORTEST_MARKED } from "./marks";
import { bump64, recordAround } from "./records";

/**
 * Bytes per counter. Steps up to this size touch every granule of a range; steps of twice this size touch
 * every other granule.
 */
const GRANULE: u32 = 8;
const LARGEST_COUNT: u64 = 0x7fffffff;

/** Adds accesses to one counter. If 31 bits cannot hold the sum, it goes to the block's record. */
function addTo(address: u32, accesses: u64, reads: u32): void {
  const at: u32 = (address >>> 3) << 2;
  const counter = load<u32>(at);
  let total = <u64>(counter >>> 1) + accesses;
  if (total > LARGEST_COUNT) {
    fold(address, total);
    total = 0;
  }
  store<u32>(at, ((<u32>total) << 1) | (counter & 1) | reads);
}

function fold(address: u32, accesses: u64): void {
  if (SHARED !== 0) lock();
  const record = recordAround(address);
  if (record !== 0) bump64(record, Record.folded, accesses);
  else if (!foldStatic(address, accesses)) bump64(CONTROL, Control.otherAccesses, accesses);
  if (SHARED !== 0) unlock();
}

/**
 * Counts a bulk access to `size` bytes as one access for every 8 bytes, from the first byte on. The range may
 * span several blocks.
 */
export function countRange(address: u32, size: u32, reads: u32): void {
  const steps = (size >>> 3) + (size & 7 ? 1 : 0);
  countGranules(address, steps, 2, reads);
}

/** Adds up fills of memory that was used before: a fill of a new block gives it its first values. */
export function noteFill(address: u32, _value: u32, size: u32): void {
  if (load<u32>((address >>> 3) << 2) !== 0) bump64(CONTROL, Control.filledBytes, size);
}

/**
 * Marks `size` bytes as read by the host. No instruction of the module counts such reads, so only the read
 * bit is set.
 */
export function hostRead(address: u32, size: u32): void {
  if (size !== 0) countGranules(address, ((address & 7) + size + 7) >>> 3, 0, 1);
}

@inline
function addSmall(address: u32, add: u32, reads: u32): void {
  const at: u32 = (address >>> 3) << 2;
  store<u32>(at, (load<u32>(at) + add) | reads);
}

function countGranules(address: u32, count: u32, add: u32, reads: u32): void {
  let at: u32 = (address >>> 3) << 2;
  const wide = i32x4.splat(add);
  const flag = i32x4.splat(reads);
  for (; count >= 4; count -= 4) {
    v128.store(at, v128.or(i32x4.add(v128.load(at), wide), flag));
    at += 16;
  }
  for (; count !== 0; count--) {
    store<u32>(at, (load<u32>(at) + add) | reads);
    at += 4;
  }
}

/** Counts `trips` times the accesses of `word` (accesses << 1 | read) at one address. */
export function countTrips(address: u32, trips: u32, word: u32): void {
  addTo(address, <u64>trips * (word >>> 1), word & 1);
}

/**
 * Counts the accesses of a loop: `trips` trips, each with the accesses of `word`, at addresses `stride` bytes
 * apart.
 * `end`: one stride past the last address.
 */
export function countStrided(end: u32, stride: i32, trips: u32, word: u32): void {
  let address: u32 = end - trips * stride;
  const reads = word & 1;
  const add = word & ~1;
  if (EXACT === 0) {
    // A pointer that walks through a range stays in one object, so all accesses of the loop are counted at
    // its last address.
    const step: u32 = stride < 0 ? -stride : stride;
    const last: u32 = end - stride;
    const length = trips * step;
    const regular = step <= GRANULE || step === 2 * GRANULE;
    // Static data is counted granule by granule, because its unread parts are reported; only long regular
    // walks are shortened there.
    if (regular ? length >= SHORTEST_MARKED + 2 * GRANULE : !isStatic(last)) {
      if (trips === 0) return;
      addTo(last, <u64>trips * (word >>> 1), reads);
      if (!regular) {
        // A downward walk has its highest address first. It is marked, because the used length of a block
        // must be known.
        if (stride < 0 && length >= SHORTEST_MARKED + 2 * GRANULE) markPlace(address);
        return;
      }
      if (stride < 0) markRange(last, address, step > GRANULE);
      else markRange(address, last, step > GRANULE);
      return;
    }
  }
  if (stride < 0) {
    // Turns a downward walk into an upward one over the same addresses.
    address = end - stride;
    stride = -stride;
  }
  if (stride <= 8 && popcnt(stride) === 1) {
    // Several trips share a counter. The first and the last granule may have fewer trips than those between.
    const shift: u32 = ctz(<u32>stride);
    const first: u32 = (7 - (address & 7) + <u32>stride) >>> shift;
    if (trips > first) {
      addSmall(address, first * add, reads);
      trips -= first;
      address += first << shift;
      const perGranule: u32 = <u32>8 >>> shift;
      const granules = trips >>> (3 - shift);
      countGranules(address, granules, add * perGranule, reads);
      trips -= granules * perGranule;
      address += granules << 3;
    }
    if (trips !== 0) addSmall(address, trips * add, reads);
    return;
  }
  for (; trips !== 0; trips--) {
    addSmall(address, add, reads);
    address += stride;
  }
}

@inline
function isStatic(address: u32): bool {
  return address - STATICS < STATIC_BYTES;
}

/** Records accesses to static data that a counter has no room for; false if the fold table is full too. */
function foldStatic(address: u32, accesses: u64): bool {
  if (!isStatic(address)) return false;
  const granule: u32 = address & ~7;
  for (let i: u32 = 0; i < FOLD_COUNT; i++) {
    const fold: usize = CONTROL + Control.folds + i * FOLD_BYTES;
    const holder = load<u32>(fold, Fold.address);
    if (holder !== granule && holder !== 0) continue;
    store<u32>(fold, granule, Fold.address);
    bump64(fold, Fold.accesses, accesses);
    return true;
  }
  return false;
}
