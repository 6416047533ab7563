// Replaces `tools/heap/assembly/work.ts` for native programs. Hooks must not change floating-point registers,
// so an f64 is increased by integer arithmetic, to some 30 bits.
const FRACTION_BITS: i64 = 52;
const FRACTION: u64 = (1 << 52) - 1;
const BIAS: i64 = 1023;

export function bumpWork(at: usize, bytes: u64, work: u64): void {
  if (bytes === 0 || work === 0) return;
  // Both factors are reduced below 2^32, so that the product has room. All following steps use the exponent
  // of the larger summand.
  const bytesShift = max(<i64>32 - <i64>clz(bytes), 0);
  const workShift = max(<i64>32 - <i64>clz(work), 0);
  let number = (bytes >>> <u64>bytesShift) * (work >>> <u64>workShift);
  let exponent = bytesShift + workShift;
  const space = <i64>clz(number) - 2;
  number = space > 0 ? number << (<u64>space) : number >>> <u64>-space;
  exponent -= space;
  const before = load<u64>(at);
  if (before !== 0) {
    let old = ((before & FRACTION) | (FRACTION + 1)) << 9;
    const oldExponent = <i64>(before >>> FRACTION_BITS) - BIAS - FRACTION_BITS - 9;
    if (oldExponent > exponent) {
      number >>>= <u64>min(oldExponent - exponent, 63);
      exponent = oldExponent;
    } else old >>>= <u64>min(exponent - oldExponent, 63);
    number += old;
  }
  const top = 63 - <i64>clz(number);
  const fraction = number >>> <u64>(top - FRACTION_BITS);
  store<u64>(at, ((<u64>(BIAS + top + exponent)) << FRACTION_BITS) | (fraction & FRACTION));
}
