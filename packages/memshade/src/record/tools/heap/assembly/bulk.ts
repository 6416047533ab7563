import { CONTROL, EXACT, lock, SHARED, STATIC_BYTES, STATICS, unlock } from "./imports";
import { Control, FOLD_BYTES, FOLD_COUNT, Fold, Record } from "./layout.generated";
import { markPlace, markRange, SHORTEST_MARKED } from "./marks";
import { bump64, recordAround } from "./records";

/** Steps up to here touch every granule between them; steps of twice as much touch every other one. */
const GRANULE: u32 = 8;
const LARGEST_COUNT: u64 = 0x7fffffff;

/** Adds accesses to one counter; what 31 bits cannot hold goes to the block's record. */
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

/** Bulk access to `size` bytes: one access for every 8 bytes, stepping from the first one. May span several blocks. */
export function countRange(address: u32, size: u32, reads: u32): void {
  const steps = (size >>> 3) + (size & 7 ? 1 : 0);
  countGranules(address, steps, 2, reads);
}

/** The host has read `size` bytes, which no instruction of the module counts: what was written there has its reader. */
export function hostRead(address: u32, size: u32): void {
  if (size !== 0) countGranules(address, ((address & 7) + size + 7) >>> 3, 0, 1);
}

@inline
function addSmall(address: u32, add: u32, reads: u32): void {
  const at: u32 = (address >>> 3) << 2;
  store<u32>(at, (load<u32>(at) + add) | reads);
}

/** Adds `add` to the counters of `count` granules in a row. */
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

/** `trips` times the accesses of `word` (accesses << 1 | read) at one address. */
export function countTrips(address: u32, trips: u32, word: u32): void {
  addTo(address, <u64>trips * (word >>> 1), word & 1);
}

/**
 * A loop of `trips` trips made the accesses of `word` at places `stride` bytes apart; `end` is one stride behind the
 * last of them.
 */
export function countStrided(end: u32, stride: i32, trips: u32, word: u32): void {
  let address: u32 = end - trips * stride;
  const reads = word & 1;
  const add = word & ~1;
  if (EXACT === 0) {
    // One pointer walks through one object: all of the loop's accesses are counted at its last place.
    const step: u32 = stride < 0 ? -stride : stride;
    const last: u32 = end - stride;
    const length = trips * step;
    const regular = step <= GRANULE || step === 2 * GRANULE;
    // Only static data is read back place by place, so that what nobody touches can be told.
    if (regular ? length >= SHORTEST_MARKED + 2 * GRANULE : !isStatic(last)) {
      if (trips === 0) return;
      addTo(last, <u64>trips * (word >>> 1), reads);
      if (!regular) {
        // The walk's other end is marked where it is the higher one: how far a block was used has to be known.
        if (stride < 0 && length >= SHORTEST_MARKED + 2 * GRANULE) markPlace(address);
        return;
      }
      if (stride < 0) markRange(last, address, step > GRANULE);
      else markRange(address, last, step > GRANULE);
      return;
    }
  }
  if (stride < 0) {
    // The same places, counted upwards.
    address = end - stride;
    stride = -stride;
  }
  if (stride <= 8 && popcnt(stride) === 1) {
    // Several trips per counter. The first granule and the last one may have fewer of them than those between.
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

/** Keeps accesses to static data that a counter has no room for; false where there is no room for them either. */
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
