// Counters of program memory. A counter is (accesses << 1) | read: one bit says whether any access was a load.

/** What one pass over the counters of a block found. */
let sum: u64 = 0;
let touched: u32 = 0;
let read: u32 = 0;

export function lastSum(): u64 { return sum; }
export function lastTouched(): u32 { return touched; }
export function lastRead(): bool { return (read & 1) != 0; }

/** Adds up the counters of `[address, address + size)` and sets them to zero. */
export function takeCounters(address: u32, size: u32): void {
  let at: u32 = (address >>> 3) << 2;
  const end: u32 = (((address + size - 1) >>> 3) << 2) + 4;
  let total: u64 = 0;
  let count: u32 = 0;
  let flags: u32 = 0;
  if (end - at >= 16) {
    let wide = i64x2.splat(0);
    let hits = i32x4.splat(0);
    let reads = i32x4.splat(0);
    const zero = i32x4.splat(0);
    for (; end - at >= 16; at += 16) {
      const counters = v128.load(at);
      if (v128.any_true(counters)) {
        reads = v128.or(reads, counters);
        hits = i32x4.sub(hits, i32x4.ne(counters, zero));
        const accesses = i32x4.shr_u(counters, 1);
        wide = i64x2.add(wide, i64x2.add(i64x2.extend_low_i32x4_u(accesses), i64x2.extend_high_i32x4_u(accesses)));
        v128.store(at, zero);
      }
    }
    total = i64x2.extract_lane(wide, 0) + i64x2.extract_lane(wide, 1);
    count = i32x4.extract_lane(hits, 0) + i32x4.extract_lane(hits, 1) + i32x4.extract_lane(hits, 2) + i32x4.extract_lane(hits, 3);
    flags = i32x4.extract_lane(reads, 0) | i32x4.extract_lane(reads, 1) | i32x4.extract_lane(reads, 2) | i32x4.extract_lane(reads, 3);
  }
  for (; at < end; at += 4) {
    const counter = load<u32>(at);
    if (counter == 0) continue;
    total += counter >>> 1;
    count++;
    flags |= counter;
    store<u32>(at, 0);
  }
  sum = total;
  touched = count;
  read = flags;
}
