// Where the counters of the program's granules are, and how they are read: what differs between WebAssembly programs and native ones. This is
// the side of WebAssembly; the build puts another file in its place for native programs.
import { Address } from "./program";

/** Of a counter; the next granule's is 4 further. */
export type CounterPlace = u32;

@inline
export function counterPlace(address: Address): CounterPlace {
  return (<u32>address >>> 3) << 2;
}

/** The same where the address is a multiple of 8. */
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

/** Whether a block is so large that its counters are looked through part by part. */
@inline
export function mayBeUntouched(_size: u32): bool {
  return false;
}
// Of counters that nobody has touched, large ranges need not be read: where the next ones are in `[at, end)` that may be, and where these end.
// What was found out before `askAgain` holds no longer.
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
/** Whether nobody has touched the counters that end at `end`, down to the place that is returned; `end`: somebody may have. */
@inline
export function untouchedBefore(_from: CounterPlace, end: CounterPlace): CounterPlace {
  return end;
}

/** Whether the counters of the block that ends were taken before: then `touchedBefore` and `flagsBefore` are what was found. */
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

/** That block has ended. */
@inline
export function forgetTaken(): void {}

/** Counters in `[from, end)` were cleaned. */
@inline
export function giveBack(_from: CounterPlace, _end: CounterPlace): void {}
