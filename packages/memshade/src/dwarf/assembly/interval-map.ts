// Intervals of addresses with a value each, of which later ones lie inside of earlier ones, or beside them: what
// ../interval-map.ts is, with the same answers where intervals overlap that should not.
import { enlarged, isUnusual, reserve, setUnusual } from "./memory";

// A chunk: {u32 count}, and from ENTRIES on, sorted {f64 start, f64 end, u32 value}.
const ENTRIES: u32 = 8;
const ENTRY: u32 = 24;
const LARGEST: u32 = 128;
const CHUNK: u32 = ENTRIES + LARGEST * ENTRY;

/** Addresses of the chunks, in ascending order of what is in them. */
let chunks: u32 = 0;
let chunkCount: u32 = 0;
let chunkRoom: u32 = 0;
/** The chunk of the last look, and its number. */
let chunk: u32 = 0;
let recent: u32 = 0;
/** Number of intervals. */
export let intervalCount: u32 = 0;

export function beginIntervals(): void {
  chunkRoom = 64;
  chunks = reserve(chunkRoom * 4);
  chunk = reserve(CHUNK);
  chunkCount = 1;
  recent = 0;
  intervalCount = 0;
  if (isUnusual) return;
  store<u32>(chunks, chunk);
  store<u32>(chunk, 0);
}

export function addInterval(low: f64, high: f64, value: u32): void {
  if (low === high || isUnusual) return;
  if (low > wanted) {
    // What starts behind an address changes nothing at it, unless it ends before it begins.
    if (high <= wanted) setUnusual();
    return;
  }
  const found = seek(low);
  if (found >= 0) {
    const entry = chunk + ENTRIES + found * ENTRY;
    const start = load<f64>(entry);
    const stop = load<f64>(entry, 8);
    if (low < stop) {
      const around = load<u32>(entry, 16);
      // In this order also where `high` is below `low`, which damaged programs have.
      if (high < stop) set(high, stop, around);
      if (low > start) {
        const cut = seek(start);
        store<f64>(chunk + ENTRIES + cut * ENTRY, low, 8);
      }
    }
  }
  set(low, high, value);
}

function set(start: f64, stop: f64, value: u32): void {
  if (isUnusual) return;
  const found = seek(start);
  if (found >= 0) {
    const entry = chunk + ENTRIES + found * ENTRY;
    if (load<f64>(entry) === start) {
      store<f64>(entry, stop, 8);
      store<u32>(entry, value, 16);
      return;
    }
  }
  let place = <u32>(found + 1);
  let count = load<u32>(chunk);
  if (count === LARGEST) {
    const upper = split();
    if (isUnusual) return;
    count = LARGEST / 2;
    if (place > count) {
      place -= count;
      recent++;
      chunk = upper;
    }
  }
  const entry = chunk + ENTRIES + place * ENTRY;
  if (place < count) memory.copy(entry + ENTRY, entry, (count - place) * ENTRY);
  store<f64>(entry, start);
  store<f64>(entry, stop, 8);
  store<u32>(entry, value, 16);
  store<u32>(chunk, count + 1);
  intervalCount++;
}

/** Moves the upper half of the chunk into a new one behind it. */
function split(): u32 {
  const upper = reserve(CHUNK);
  if (chunkCount === chunkRoom) {
    chunks = enlarged(chunks, chunkRoom * 4);
    chunkRoom *= 2;
  }
  if (isUnusual) return 0;
  const half = LARGEST / 2;
  memory.copy(upper + ENTRIES, chunk + ENTRIES + half * ENTRY, half * ENTRY);
  store<u32>(upper, half);
  store<u32>(chunk, half);
  const place = chunks + (recent + 1) * 4;
  memory.copy(place + 4, place, (chunkCount - recent - 1) * 4);
  store<u32>(place, upper);
  chunkCount++;
  return upper;
}

// @ts-ignore: decorators are of AssemblyScript
@inline
function firstOf(number: u32): f64 {
  return load<f64>(load<u32>(chunks + number * 4), ENTRIES);
}

/** Looks into the chunk that has the last start at or below an address, and returns its place there, or −1. */
function seek(address: f64): i32 {
  const fits =
    load<u32>(chunk) > 0 &&
    load<f64>(chunk, ENTRIES) <= address &&
    (recent + 1 === chunkCount || address < firstOf(recent + 1));
  if (!fits) {
    let low: u32 = 0;
    let high = chunkCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (load<u32>(load<u32>(chunks + middle * 4)) > 0 && firstOf(middle) <= address) low = middle + 1;
      else high = middle;
    }
    recent = low > 0 ? low - 1 : 0;
    chunk = load<u32>(chunks + recent * 4);
  }
  let low: u32 = 0;
  let high = load<u32>(chunk);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<f64>(chunk + ENTRIES + middle * ENTRY) <= address) low = middle + 1;
    else high = middle;
  }
  return <i32>low - 1;
}

/** Where columns of the intervals are, in order, after `endIntervals`. */
export let intervalStarts: u32 = 0;
export let intervalEnds: u32 = 0;
export let intervalValues: u32 = 0;

export function endIntervals(): void {
  intervalStarts = reserve(intervalCount * 8);
  intervalEnds = reserve(intervalCount * 8);
  intervalValues = reserve(intervalCount * 4);
  if (isUnusual) return;
  let at: u32 = 0;
  for (let number: u32 = 0; number < chunkCount; number++) {
    const from = load<u32>(chunks + number * 4);
    const stop = from + ENTRIES + load<u32>(from) * ENTRY;
    for (let entry = from + ENTRIES; entry < stop; entry += ENTRY) {
      store<f64>(intervalStarts + at * 8, load<f64>(entry));
      store<f64>(intervalEnds + at * 8, load<f64>(entry, 8));
      store<u32>(intervalValues + at * 4, load<u32>(entry, 16));
      at++;
    }
  }
}

/** The address that is asked for alone; NaN for all. */
let wanted: f64 = NaN;

/** To be called before intervals are added for one address; `wantAll` before others. */
export function wantOne(address: f64): void {
  wanted = address;
}

export function wantAll(): void {
  wanted = NaN;
}

export function isOneWanted(): bool {
  return !isNaN(wanted);
}

/** The value at that address, or −1. */
export function valueAtWanted(): i32 {
  const found = seek(wanted);
  const entry = chunk + ENTRIES + found * ENTRY;
  return found >= 0 && wanted < load<f64>(entry, 8) ? load<i32>(entry, 16) : -1;
}
