// Addresses of the counters of the program's granules, and how counters are read. This is the version for
// WebAssembly programs; the build replaces it by another file for native programs.
import { Address } from "./program";

/** Address of a counter. The next granule's counter is 4 bytes further. */
export type CounterPlace = u32;

@inline
export function counterPlace(address: Address): CounterPlace {
  return (<u32>address >>> 3) << 2;
}

@inline
export function alignedCounterPlace(address: Address): CounterPlace {
  return <u32>(address >>> 1);
}

@inline
export function counterOf(at: CounterPlace): u32 {
  return load<u32>(at);
}
@inline
export function twoCounters(at: CounterPlace): u64 {
  return load<u64>(at);
}
@inline
export function fourCounters(at: CounterPlace): v128 {
  return v128.load(at);
}
@inline
export function clean(at: CounterPlace): void {
  store<u32>(at, 0);
}
@inline
export function cleanTwo(at: CounterPlace): void {
  store<u64>(at, 0);
}
@inline
export function cleanFour(at: CounterPlace): void {
  v128.store(at, i64x2.splat(0));
}

/** True if a block is so large that its counters are searched in parts. */
@inline
export function mayBeUntouched(_size: u32): bool {
  return false;
}
// Skips large ranges of counters that were never written. `nextTouched` returns the start of the next part of
// `[at, end)` that may have been written, `touchedEnd` the end of that part. `askAgain` discards cached
// results.
@inline
export function askAgain(): void {}
@inline
export function nextTouched(at: CounterPlace, _end: CounterPlace): CounterPlace {
  return at;
}
@inline
export function touchedEnd(_at: CounterPlace, end: CounterPlace): CounterPlace {
  return end;
}
/**
 * Returns the lowest address from which on all counters up to `end` were never written; `end` itself if the
 * last one may have been.
 */
@inline
export function untouchedBefore(_from: CounterPlace, end: CounterPlace): CounterPlace {
  return end;
}

/**
 * True if the counters of the ending block were summed earlier. `touchedBefore` and `flagsBefore` return
 * these sums.
 */
@inline
export function wereTaken(): bool {
  return false;
}
@inline
export function touchedBefore(): u32 {
  return 0;
}
@inline
export function flagsBefore(): u32 {
  return 0;
}

@inline
export function forgetTaken(): void {}

@inline
export function giveBack(_from: CounterPlace, _end: CounterPlace): void {}
