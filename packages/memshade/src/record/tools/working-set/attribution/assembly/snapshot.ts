// Scan of an interval's lines at its end, before the working set's own: first touch, owners and number of the touched
// bytes of each line. `tools/working-set/attribution/read/open-attribution.ts` does the same for the interval that is
// open at the end.
import { BOTH, CONTROL, WRITTEN } from "../../assembly/imports";
import { Control } from "../../assembly/layout.generated";
import { halve } from "../../assembly/snapshot";
import { bucketOf, bucketOfLine } from "../../assembly/touch";
import { clearLine, entryAt, touchedBytes } from "./blocks";
import { add, list } from "./entries";
import { BYTE_STAMPS, COVERED, FILL, FIRST_TOUCH, HEADS, OWNERS, STATE, TOUCHERS } from "./imports";
import { Freed, Key, Kind, State } from "./layout.generated";
import { halveOwned, regionOfLine, share } from "./owned";

/**
 * Cost of an attributed line, in scanned lines, so that intervals that the tool chooses become longer. The real cost is
 * higher; users who request attribution wait rather than get fewer intervals.
 */
const LINES_PER_LINE: u32 = 8;

export function attribute(): void {
  const end = load<u32>(CONTROL, Control.highLines);
  let lines: u32 = 0;
  for (let group: u32 = 0; group < end; group += 16) {
    const marks = v128.or(v128.or(v128.load(group), v128.load(WRITTEN + group)), v128.load(BOTH + group));
    if (!v128.any_true(marks)) continue;
    for (let mask: u32 = i8x16.bitmask(i8x16.ne(marks, i8x16.splat(0))); mask !== 0; mask &= mask - 1) {
      attributeLine(group + ctz(mask));
      lines++;
    }
  }
  store<u64>(CONTROL, load<u64>(CONTROL, Control.work) + lines * LINES_PER_LINE, Control.work);
  if (FILL)
    for (let bucket: u32 = 0; bucket < 16; bucket++) {
      const at: usize = STATE + State.byteCounts + (bucket << 2);
      const count = load<u32>(at);
      if (count === 0) continue;
      add(Key.bytes, Kind.fill, bucket, <f64>count);
      store<u32>(at, 0);
    }
  if (OWNERS) {
    for (let number = load<u32>(STATE, State.freed); number !== 0; number--)
      store<u32>(HEADS + (load<u32>(entryAt(number), Freed.line) << 2), 0);
    store<u32>(STATE, 0, State.freed);
  }
  list();
}

/** Halves the stamps of bytes after neighbouring intervals were merged. */
export function merged(): void {
  if (FILL) halve(BYTE_STAMPS, min(load<u32>(CONTROL, Control.highLines) << 6, COVERED) << 1);
  if (OWNERS) halveOwned(load<u32>(CONTROL, Control.highLines));
}

@inline
function attributeLine(line: u32): void {
  const now = load<u32>(CONTROL, Control.interval) + 1;
  const bucket = bucketOfLine(line);
  if (FIRST_TOUCH) {
    const at: usize = TOUCHERS + (line << 2);
    add(load<u32>(at), Kind.touch, bucket, 1);
    store<u32>(at, 0);
  }
  if (!(FILL | OWNERS)) return;
  const isCovered = line < COVERED >>> 6;
  const touched = isCovered ? touchedBytes(line) : 0;
  const freed = OWNERS && isCovered ? freedBytes(line) : 0;
  if (FILL) countBytes(line, touched | freed, now);
  if (OWNERS) {
    if (isCovered) share(line, touched, freed, bucket);
    else add(regionOfLine(line), Kind.share, bucket, 1);
  }
  if (touched !== 0) clearLine(line);
}

/** Counts bytes by the number of time scales at which they are new. */
function countBytes(line: u32, mask: u64, now: u32): void {
  const stamps: usize = BYTE_STAMPS + (line << 7);
  for (let eight: u32 = 0; eight < 8; eight++) {
    const bits = <u32>(mask >>> <u64>(eight << 3)) & 0xff;
    if (bits === 0) continue;
    const at: usize = stamps + (eight << 4);
    // Neighbouring bytes mostly have one history.
    const first: u32 = load<u16>(at);
    if (bits === 0xff && i16x8.all_true(i16x8.eq(v128.load(at), i16x8.splat(<i16>first)))) {
      countByte(now, first, 8);
      v128.store(at, i16x8.splat(<i16>now));
      continue;
    }
    for (let rest = bits; rest !== 0; rest &= rest - 1) {
      const stampAt = at + ((<usize>ctz(rest)) << 1);
      countByte(now, load<u16>(stampAt), 1);
      store<u16>(stampAt, <u16>now);
    }
  }
}

@inline
function countByte(now: u32, before: u32, bytes: u32): void {
  const counter: usize = STATE + State.byteCounts + (bucketOf(now, before) << 2);
  store<u32>(counter, load<u32>(counter) + bytes);
}

@inline
function freedBytes(line: u32): u64 {
  let mask: u64 = 0;
  for (let at = load<u32>(HEADS + (line << 2)); at !== 0; at = load<u32>(entryAt(at), Freed.next))
    mask |= load<u64>(entryAt(at), Freed.mask);
  return mask;
}
