import { add, addOften, addSmall } from "./histogram";
import {
  ACCESSES,
  BUFFER,
  CACHE_LINES,
  clockNow,
  CONTROL,
  DISTANCES,
  ENTRIES,
  EXACT,
  FIRSTS,
  LIMIT,
  LINES,
  MULTIPLIER,
  LINES_SHIFT,
  SITE_MASK,
  SITES,
  STATE,
  TIMES,
} from "./imports";
import { Entry, NO_SITE, SITE_BYTES, Site, State, WAITING_BYTES, Waiting } from "./layout.generated";
import { moveToFront } from "./order";

// Offsets in the working-set tool's control block.
const C_LOADED: usize = 8;

const LINE_SHIFT: u32 = 6;
/** A distance among sampled lines, as one among all lines: divided by their rate, rounded. */
@inline
function scaled(distance: i32): u64 {
  const hashes = <u64>LIMIT + 1;
  return (((<u64>distance) << 32) + (hashes >>> 1)) / hashes;
}

/**
 * 32 bits of a line's number. Multiples of a number that fractions are far from spread the sampled lines evenly over every
 * array, whatever its stride, so that a sample says more than a random one of its size.
 */
@inline
function hashLine(line: u32): u32 {
  return line * MULTIPLIER;
}

@inline
function entryOf(line: u32): usize {
  return ENTRIES + ((line >>> LINES_SHIFT) << 4);
}

/** A reference to a line that is followed, at a position of the stream, by the instruction `site`. */
function follow(line: u32, position: u64, site: u32): void {
  store<f64>(STATE, load<f64>(STATE, State.sampled) + 1, State.sampled);
  const at = entryOf(line);
  const last = load<u64>(at, Entry.position);
  store<u64>(at, position, Entry.position);
  const distance = moveToFront(at);
  if (distance < 0) {
    store<f64>(STATE, load<f64>(STATE, State.cold) + 1, State.cold);
    add(FIRSTS, position);
    charge(site, true, true);
    return;
  }
  let lines: u64 = distance;
  if (!EXACT) lines = scaled(distance);
  const follows = position > last;
  const time = select<u64>(position - last, lines + 1, follows);
  // Between two references lie no more lines than references.
  lines = min(lines, time - 1);
  add(TIMES, time);
  add(DISTANCES, lines);
  charge(site, lines >= CACHE_LINES, false);
}

/** The entry of a site; 0 if there is no room for it. */
function entryOfSite(site: u32): usize {
  let at: usize = SITES + ((((site * 0x9e3779b1) >>> 8) & SITE_MASK) << 5);
  let found = load<u32>(at);
  while (found !== site + 1 && found !== 0) {
    at += SITE_BYTES;
    if (at > SITES + SITE_MASK * SITE_BYTES) at = SITES;
    found = load<u32>(at);
  }
  if (found !== 0) return at;
  const count = load<u32>(STATE, State.sites) + 1;
  // One entry always stays free, so that searches end; what finds no room has none.
  if (count > SITE_MASK) return 0;
  store<u32>(STATE, count, State.sites);
  store<u32>(at, site + 1);
  return at;
}

@inline
function charge(site: u32, missing: bool, cold: bool): void {
  const at = entryOfSite(site);
  if (at === 0) return;
  store<f64>(at, load<f64>(at, Site.references) + 1, Site.references);
  // No branch: which references miss is what nobody can guess.
  store<f64>(at, load<f64>(at, Site.misses) + <f64>(<u32>missing), Site.misses);
  if (cold) store<f64>(at, load<f64>(at, Site.cold) + 1, Site.cold);
}

/** Exact: an access behind the instruction that made it. */
export function access(address: u32, size: u32, site: u32): void {
  if (size === 0) return;
  const first = address >>> LINE_SHIFT;
  const last = (address + size - 1) >>> LINE_SHIFT;
  for (let line = first; ; line++) {
    const position = load<u64>(STATE, State.references) + 1;
    store<u64>(STATE, position, State.references);
    follow(line, position, site);
    if (line === last) return;
  }
}

@inline
function isSampled(line: u32): bool {
  return hashLine(line) <= LIMIT && line < LINES;
}

/** Sampling: position of what happens while the countdown is at `clock`. */
function positionAt(clock: i32): u64 {
  return (
    load<u64>(ACCESSES) +
    <u64>(<i64>load<i32>(CONTROL, C_LOADED) - <i64>clock) +
    load<u64>(STATE, State.references)
  );
}

/** Sampling: the references that inserted code has put aside. */
export function drain(): void {
  const end = load<u32>(STATE, State.buffered);
  if (end === 0) return;
  store<u32>(STATE, 0, State.buffered);
  const origin = positionAt(0);
  let at: usize = BUFFER;
  while (at < BUFFER + end) {
    const line = load<u32>(at);
    if (!isSampled(line)) {
      at += WAITING_BYTES;
      continue;
    }
    follow(line, origin - load<i32>(at, Waiting.clock), load<u32>(at, Waiting.site));
    at += WAITING_BYTES;
    at = followAgain(line, at, BUFFER + end, origin);
  }
}

/** The references that wait from `at` on, as long as they are to the line that was referenced last. Returns where they end. */
@inline
function followAgain(line: u32, from: usize, end: usize, origin: u64): usize {
  if (from === end || load<u32>(from) !== line) return from;
  const entry = entryOf(line);
  let last = load<u64>(entry, Entry.position);
  let at = from;
  let site = NO_SITE;
  let ofSite: usize = 0;
  do {
    const position = origin - load<i32>(at, Waiting.clock);
    addSmall(TIMES, position > last ? position - last : 1);
    const next = load<u32>(at, 4);
    if (next !== site) {
      site = next;
      ofSite = entryOfSite(site);
    }
    if (ofSite !== 0) store<f64>(ofSite, load<f64>(ofSite, Site.references) + 1, Site.references);
    last = position;
    at += WAITING_BYTES;
  } while (at < end && load<u32>(at) === line);
  store<u64>(entry, last, Entry.position);
  const all = <f64>(<i32>((at - from) / WAITING_BYTES));
  addOften(DISTANCES, 0, all);
  store<f64>(STATE, load<f64>(STATE, State.sampled) + all, State.sampled);
  return at;
}

/** A bulk instruction: one reference for each line. The clock counts one access for all. */
function bulk(address: u32, size: u32): void {
  if (size === 0) return;
  if (EXACT) {
    access(address, size, NO_SITE);
    return;
  }
  drain();
  const last = (address + size - 1) >>> LINE_SHIFT;
  const clock = clockNow();
  for (let line = address >>> LINE_SHIFT; ; line++) {
    if (isSampled(line)) follow(line, positionAt(clock), NO_SITE);
    if (line === last) return;
    store<u64>(STATE, load<u64>(STATE, State.references) + 1, State.references);
  }
}

/** Before `memory.copy`. */
export function copied(destination: u32, source: u32, size: u32): void {
  bulk(source, size);
  bulk(destination, size);
}

/** Before `memory.fill`. */
export function filled(destination: u32, _value: u32, size: u32): void {
  bulk(destination, size);
}

/** Behind `memory.init`. */
export function initialized(destination: u32, size: u32): void {
  bulk(destination, size);
}
