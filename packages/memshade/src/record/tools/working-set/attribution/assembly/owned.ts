// Owners of the bytes of lines at their last touch, and its time: they divide a line in longer intervals. In any
// interval, a byte counts for the block in which it was last touched, or for its region if it was touched in none. A
// touched line changes its shares in all longer intervals that touched it before; the difference is added there.
// Entries with bucket b count at the binary scales below b. A change from scale `from` to `to` − 1 is therefore added
// with bucket `to` and subtracted with bucket `from`.

import { CONTROL } from "../../assembly/imports";
import { Control } from "../../assembly/layout.generated";
import { bucketOf } from "../../assembly/touch";
import { bitsInside, entryAt, touchedInBlock } from "./blocks";
import { add } from "./entries";
import { BLOCKS, COVERED, FIRSTS, HEADS, OWNED, OWNED_CAPACITY, STARTS, STATE } from "./imports";
import { BLOCK_BYTES, Block, Freed, Key, Kind, OWNED_BYTES, Owned, State } from "./layout.generated";

const LAST_BUCKET: u32 = 15;
const WEIGHT_SIZE: u32 = 16;
/** Smaller differences are rounding errors. */
const LEAST_WEIGHT: f64 = 1e-9;

let weights: u32 = 0;

@inline
function ownedAt(number: u32): usize {
  return OWNED + number * OWNED_BYTES;
}

@inline
function isRegion(key: u32): bool {
  return key >= Key.stack && key <= Key.heap;
}

/**
 * Adds the shares of a line that was touched in the interval `now` (plus one), whose parts are in State.parts. `bucket`
 * is that of the previous interval that touched the line.
 */
function addShares(line: u32, parts: u32, region: u32, bucket: u32, now: u32): void {
  const head = ownedAt(line);
  const first: usize = STATE + State.parts;
  const key = parts === 0 ? region : load<u32>(first);
  const isFresh = load<u64>(head, Owned.mask) === 0 && load<u32>(head, Owned.next) === 0;
  if (parts > 1) {
    const isSame = !isFresh && isAsBefore(line, parts, bucket, now);
    if (isSame || (isFresh && bucket === LAST_BUCKET)) addParts(parts, bucket);
    else addDifferences(line, parts, region, bucket, now);
    if (isSame) stamp(line, now);
    else renew(line, parts, now);
    return;
  }
  if ((isFresh && bucket === LAST_BUCKET) || (!isFresh && hasOneOwner(line, key, bucket, now)))
    add(key, Kind.share, bucket, 1);
  else addDifferences(line, parts, region, bucket, now);
  if (parts === 0) return;
  const mask = load<u64>(first, 8);
  const isInPlace = load<u32>(head, Owned.key) === key && (load<u64>(head, Owned.mask) & ~mask) === 0;
  if (load<u32>(head, Owned.next) === 0 && (isInPlace || isFresh)) note(head, key, mask, now);
  else renew(line, parts, now);
}

/** True if the parts of a line equal those of its previous touch, and nothing else was touched before. */
function isAsBefore(line: u32, parts: u32, bucket: u32, now: u32): bool {
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  let knownParts: u32 = 0;
  let number = line;
  do {
    const entry = ownedAt(number);
    const mask = load<u64>(entry, Owned.mask);
    if (mask !== 0) {
      let at: usize = STATE + State.parts;
      while (at < end && (load<u32>(at) !== load<u32>(entry, Owned.key) || load<u64>(at, 8) !== mask))
        at += PART_SIZE;
      if (at === end || bucketOf(now, load<u32>(entry, Owned.stamp)) !== bucket) return false;
      knownParts++;
    }
    number = load<u32>(entry, Owned.next);
  } while (number !== 0);
  return knownParts === parts;
}

function stamp(line: u32, now: u32): void {
  let number = line;
  do {
    store<u32>(ownedAt(number), now, Owned.stamp);
    number = load<u32>(ownedAt(number), Owned.next);
  } while (number !== 0);
}

/** Adds the parts of a line at all scales at which it is new. */
function addParts(parts: u32, bucket: u32): void {
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  let touched: u64 = 0;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE) touched |= load<u64>(at, 8);
  const byteWeight: f64 = 1 / <f64>popcnt(touched);
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE)
    add(load<u32>(at), Kind.share, bucket, <f64>popcnt(load<u64>(at, 8)) * byteWeight);
}

/** True if all bytes of a line ever touched have one key, and some were touched as recently as the line itself. */
function hasOneOwner(line: u32, key: u32, bucket: u32, now: u32): bool {
  let newest = LAST_BUCKET;
  let number = line;
  do {
    const entry = ownedAt(number);
    if (load<u64>(entry, Owned.mask) !== 0) {
      if (load<u32>(entry, Owned.key) !== key) return false;
      newest = min(newest, bucketOf(now, load<u32>(entry, Owned.stamp)));
    }
    number = load<u32>(entry, Owned.next);
  } while (number !== 0);
  return newest === bucket;
}

/** General case: adds, at each scale, the current shares of the line less the earlier ones. */
function addDifferences(line: u32, parts: u32, region: u32, bucket: u32, now: u32): void {
  let buckets: u32 = (1 << bucket) | (1 << LAST_BUCKET);
  let number = line;
  do {
    const entry = ownedAt(number);
    if (load<u64>(entry, Owned.mask) !== 0) {
      const stamp = load<u32>(entry, Owned.stamp);
      buckets |= 1 << bucketOf(now, stamp);
    }
    number = load<u32>(entry, Owned.next);
  } while (number !== 0);
  let from: u32 = 0;
  for (; buckets !== 0; buckets &= buckets - 1) {
    const to: u32 = ctz(buckets);
    weights = 0;
    divide(line, parts, region, from, now, 1);
    if (from >= bucket) divide(line, 0, region, from, now, -1);
    for (let i: u32 = 0; i < weights; i++) {
      const at: usize = STATE + State.weights + i * WEIGHT_SIZE;
      const weight = load<f64>(at, 8);
      if (abs(weight) < LEAST_WEIGHT) continue;
      add(load<u32>(at), Kind.share, to, weight);
      if (from !== 0) add(load<u32>(at), Kind.share, from, -weight);
    }
    from = to;
  }
}

/** Computes the shares of a line at one scale, from the first `parts` of State.parts and the earlier touches. */
function divide(line: u32, parts: u32, region: u32, scale: u32, now: u32, sign: f64): void {
  let touched: u64 = 0;
  let inNew: u64 = 0;
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE) {
    const mask = load<u64>(at, 8);
    touched |= mask;
    if (!isRegion(load<u32>(at))) inNew |= mask;
  }
  let number = line;
  do {
    const entry = ownedAt(number);
    if (isInside(entry, now, scale)) touched |= load<u64>(entry, Owned.mask);
    number = load<u32>(entry, Owned.next);
  } while (number !== 0);
  if (touched === 0) {
    weigh(region, sign);
    return;
  }
  const byteWeight: f64 = sign / <f64>popcnt(touched);
  let owned = inNew;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE)
    if (!isRegion(load<u32>(at))) weigh(load<u32>(at), <f64>popcnt(load<u64>(at, 8)) * byteWeight);
  do {
    const entry = ownedAt(number === 0 ? line : number);
    if (!isRegion(load<u32>(entry, Owned.key)) && isInside(entry, now, scale)) {
      const ownBytes = load<u64>(entry, Owned.mask) & ~inNew;
      if (ownBytes !== 0) weigh(load<u32>(entry, Owned.key), <f64>popcnt(ownBytes) * byteWeight);
      owned |= ownBytes;
    }
    number = load<u32>(entry, Owned.next);
  } while (number !== 0);
  if ((touched & ~owned) !== 0) weigh(region, <f64>popcnt(touched & ~owned) * byteWeight);
}

@inline
function isInside(entry: usize, now: u32, scale: u32): bool {
  return load<u64>(entry, Owned.mask) !== 0 && bucketOf(now, load<u32>(entry, Owned.stamp)) <= scale;
}

function weigh(key: u32, weight: f64): void {
  const end: usize = STATE + State.weights + weights * WEIGHT_SIZE;
  for (let at: usize = STATE + State.weights; at < end; at += WEIGHT_SIZE)
    if (load<u32>(at) === key) {
      store<f64>(at, load<f64>(at, 8) + weight, 8);
      return;
    }
  store<u32>(end, key);
  store<f64>(end, weight, 8);
  weights++;
}

@inline
function note(entry: usize, key: u32, mask: u64, now: u32): void {
  store<u32>(entry, key, Owned.key);
  store<u64>(entry, mask, Owned.mask);
  store<u32>(entry, now, Owned.stamp);
}

/** Replaces the recorded owners of the bytes of a line's parts. */
function renew(line: u32, parts: u32, now: u32): void {
  let inBlock: u64 = 0;
  let inRegion: u64 = 0;
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE) {
    if (isRegion(load<u32>(at))) inRegion |= load<u64>(at, 8);
    else inBlock |= load<u64>(at, 8);
  }
  const head = ownedAt(line);
  let before = head;
  for (let number = line; ; ) {
    const entry = ownedAt(number);
    const next = load<u32>(entry, Owned.next);
    const gone = inBlock | (isRegion(load<u32>(entry, Owned.key)) ? inRegion : 0);
    const remaining = load<u64>(entry, Owned.mask) & ~gone;
    store<u64>(entry, remaining, Owned.mask);
    if (remaining === 0 && entry !== head) {
      store<u32>(before, next, Owned.next);
      store<u32>(entry, load<u32>(STATE, State.ownedFree), Owned.next);
      store<u32>(STATE, number, State.ownedFree);
    } else before = entry;
    if (next === 0) break;
    number = next;
  }
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE) {
    let entry = head;
    if (load<u64>(head, Owned.mask) !== 0) {
      const number = newNumber();
      if (number === 0) continue;
      entry = ownedAt(number);
      store<u32>(entry, load<u32>(head, Owned.next), Owned.next);
      store<u32>(head, number, Owned.next);
    }
    note(entry, load<u32>(at), load<u64>(at, 8), now);
  }
}

function newNumber(): u32 {
  const free = load<u32>(STATE, State.ownedFree);
  if (free !== 0) {
    store<u32>(STATE, load<u32>(ownedAt(free), Owned.next), State.ownedFree);
    return free;
  }
  const used = load<u32>(STATE, State.ownedNext);
  const number = (COVERED >>> 6) + used;
  if (number >= OWNED_CAPACITY) {
    store<u32>(STATE, load<u32>(STATE, State.ownedLost) + 1, State.ownedLost);
    return 0;
  }
  store<u32>(STATE, used + 1, State.ownedNext);
  return number;
}

export function halveOwned(lines: u32): void {
  for (let number: u32 = 0; number < min(lines, COVERED >>> 6); number++) halveStamp(ownedAt(number));
  for (let i: u32 = 0; i < load<u32>(STATE, State.ownedNext); i++) halveStamp(ownedAt((COVERED >>> 6) + i));
}

@inline
function halveStamp(entry: usize): void {
  const stamp = load<u32>(entry, Owned.stamp);
  if (stamp !== 0) store<u32>(entry, (stamp + 1) >>> 1, Owned.stamp);
}

// Shares of a line that was touched in the open interval: in that interval, and their effect on the longer intervals
// that contain it.

const PART_SIZE: u32 = 16;
let parts: u32 = 0;

/** Divides a line among the blocks in which its bytes were touched, and the region around them. */
export function share(line: u32, touched: u64, freed: u64, bucket: u32): void {
  parts = 0;
  let owned: u64 = 0;
  if (touched !== 0) {
    const inBlock = touchedInBlock(line);
    const first = load<u32>(FIRSTS + (line << 2));
    if (first !== 0) owned |= partOfBlock(line, first, inBlock);
    const starts: usize = STARTS + (line << 5);
    for (let granule: u32 = 0; granule < 8; granule++) {
      const number = load<u32>(starts + (granule << 2));
      if (number !== 0) owned |= partOfBlock(line, number, inBlock & ~owned);
    }
  }
  if (freed !== 0)
    for (let at = load<u32>(HEADS + (line << 2)); at !== 0; at = load<u32>(entryAt(at), Freed.next)) {
      const ownBytes = load<u64>(entryAt(at), Freed.mask) & ~owned;
      notePart(load<u32>(entryAt(at), Freed.key), ownBytes);
      owned |= ownBytes;
    }
  const region = regionOfLine(line);
  notePart(region, touched & ~owned);
  addShares(line, parts, region, bucket, load<u32>(CONTROL, Control.interval) + 1);
}

/** Records a live block's part of a line; returns its touched bytes. */
function partOfBlock(line: u32, number: u32, touched: u64): u64 {
  const block: usize = BLOCKS + number * BLOCK_BYTES;
  const address = load<u32>(block, Block.address);
  const end = address + load<u32>(block, Block.size);
  if (end <= line << 6) return 0;
  const ownBytes = touched & bitsInside(line, address, end);
  notePart(load<u32>(block, Block.key), ownBytes);
  return ownBytes;
}

/** Adds bytes to a key's part of the line. Each key has one part. */
function notePart(key: u32, mask: u64): void {
  if (mask === 0) return;
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE)
    if (load<u32>(at) === key) {
      store<u64>(at, load<u64>(at, 8) | mask, 8);
      return;
    }
  store<u32>(end, key);
  store<u64>(end, mask, 8);
  parts++;
}

/** Returns the key of the region of a line, for bytes that belong to no block. */
export function regionOfLine(line: u32): u32 {
  if (line >= load<u32>(CONTROL, Control.stackFrom) && line < load<u32>(CONTROL, Control.stackTo))
    return Key.stack;
  return line >= load<u32>(CONTROL, Control.heapFrom) ? Key.heap : Key.statics;
}
