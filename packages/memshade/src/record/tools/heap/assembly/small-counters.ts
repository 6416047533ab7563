import {
  clean,
  cleanFour,
  cleanTwo,
  counterOf,
  CounterPlace,
  fourCounters,
  twoCounters,
} from "./counter-memory";
import { COUNTED } from "./imports";
import { Shape } from "./layout.generated";

// Counters of a small block: at most 16, at a multiple of 4. They are read as two words of 4, 8 or 16 bytes, or four of 16,
// that overlap where the block does not fill them: so nothing outside of it is read, and no loop is needed. The smallest blocks are
// read counter by counter: a wider load has to wait until the stores it overlaps have left the processor's store buffer,
// and what a program counts last is often what it is about to release.

/** Distance of the last counter of a block of `size` bytes from the first. */
@inline
export function lastOf(size: u32): u32 {
  return ((size - 1) >>> 3) << 2;
}

@inline
export function counterAt(at: CounterPlace): u32 {
  return COUNTED === 0 ? 0 : counterOf(at);
}

const VECTOR_BYTES: u32 = 16;

/** Whether one of the counters in `[from, to)`, at least 16 bytes, is not zero. */
@inline
function anyOfMany(from: CounterPlace, to: CounterPlace): bool {
  const last = to - VECTOR_BYTES;
  let any = fourCounters(last);
  for (let at = from; at < last; at += VECTOR_BYTES) any = v128.or(any, fourCounters(at));
  return v128.any_true(any);
}

/** Whether one of the counters of a block of `size` bytes is not zero. */
@inline
export function anyCounter(at: CounterPlace, size: u32): bool {
  const last = at + lastOf(size);
  if (size <= 16) return (counterOf(at) | counterOf(last)) !== 0;
  if (size <= 32) return (twoCounters(at) | twoCounters(last - 4)) !== 0;
  return anyOfMany(at, last + 4);
}

/** A number that tells blocks of one size apart by their counters, as a rule. */
@inline
export function mixSmall(first: u32, last: u32): u32 {
  return first + last * 31;
}

/**
 * Whether the counters are those of a shape; then they are cleaned. `first`, `end`: the first and the last of them.
 */
@inline
export function takeSmall(at: CounterPlace, size: u32, first: u32, end: u32, shape: usize): bool {
  const last = lastOf(size);
  if (size <= 16) {
    if (((first ^ load<u32>(shape, Shape.pattern)) | (end ^ load<u32>(shape + last, Shape.pattern))) !== 0)
      return false;
    clean(at);
    clean(at + last);
  } else if (size <= 32) {
    const high = at + last - 4;
    const differ =
      (twoCounters(at) ^ load<u64>(shape, Shape.pattern)) |
      (twoCounters(high) ^ load<u64>(shape + last, Shape.pattern - 4));
    if (differ !== 0) return false;
    cleanTwo(at);
    cleanTwo(high);
  } else {
    const high = at + last - 12;
    let differ = v128.or(
      v128.xor(fourCounters(at), v128.load(shape, Shape.pattern)),
      v128.xor(fourCounters(high), v128.load(shape + last, Shape.pattern - 12)),
    );
    if (size > 64) {
      const inner = high - VECTOR_BYTES;
      differ = v128.or(
        differ,
        v128.or(
          v128.xor(fourCounters(at + VECTOR_BYTES), v128.load(shape, Shape.pattern + VECTOR_BYTES)),
          v128.xor(fourCounters(inner), v128.load(shape + last, Shape.pattern - 12 - VECTOR_BYTES)),
        ),
      );
      if (v128.any_true(differ)) return false;
      cleanFour(at + VECTOR_BYTES);
      cleanFour(inner);
    } else if (v128.any_true(differ)) return false;
    cleanFour(at);
    cleanFour(high);
  }
  return true;
}
