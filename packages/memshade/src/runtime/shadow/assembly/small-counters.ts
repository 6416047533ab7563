// Counters of a small block: at most 8, at a multiple of 4. What may just have been counted is read counter by counter: a
// wider load would have to wait until the stores it overlaps have left the processor's store buffer. To need no loop, the
// counters are read from both ends, so some of them twice.

/** Distance of the last counter of a block of `size` bytes from the first. */
@inline
function lastOf(size: u32): u32 { return ((size - 1) >>> 3) << 2; }

/** Whether one of the counters is not zero. */
@inline
export function anySmall(at: u32, size: u32): u32 {
  const last = at + lastOf(size);
  let any = load<u32>(at) | load<u32>(last);
  if (size > 16) {
    any |= load<u32>(at, 4) | load<u32>(last - 4);
    if (size > 32) any |= load<u32>(at, 8) | load<u32>(at, 12) | load<u32>(last - 8) | load<u32>(last - 12);
  }
  return any;
}

/** A number that tells blocks of one size apart by their counters. */
@inline
export function mixSmall(at: u32, size: u32): u32 {
  const last = at + lastOf(size);
  let mix = load<u32>(at) + load<u32>(last) * 31;
  if (size > 16) {
    mix += load<u32>(at, 4) * 7 + load<u32>(last - 4) * 61;
    if (size > 32)
      mix += load<u32>(at, 8) * 5 + load<u32>(at, 12) * 11 + load<u32>(last - 8) * 29 + load<u32>(last - 12) * 43;
  }
  return mix;
}

/** Not zero if the counters differ from those at `pattern`. */
@inline
export function differSmall(at: u32, size: u32, pattern: u32): u32 {
  const last = lastOf(size);
  let differ = (load<u32>(at) ^ load<u32>(pattern)) | (load<u32>(at + last) ^ load<u32>(pattern + last));
  if (size > 16) {
    const from = at + last - 12;
    const to = pattern + last - 12;
    differ |= (load<u32>(at, 4) ^ load<u32>(pattern, 4)) | (load<u32>(from, 8) ^ load<u32>(to, 8));
    if (size > 32)
      differ |=
        (load<u32>(at, 8) ^ load<u32>(pattern, 8)) | (load<u32>(at, 12) ^ load<u32>(pattern, 12)) |
        (load<u32>(from, 4) ^ load<u32>(to, 4)) | (load<u32>(from) ^ load<u32>(to));
  }
  return differ;
}

@inline
export function clearSmall(at: u32, size: u32): void {
  const last = at + lastOf(size);
  if (size <= 16) {
    store<u32>(at, 0);
    store<u32>(last, 0);
  } else if (size <= 32) {
    store<u64>(at, 0);
    store<u64>(last - 4, 0);
  } else {
    v128.store(at, i64x2.splat(0));
    v128.store(last - 12, i64x2.splat(0));
  }
}
