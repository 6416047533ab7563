// Computes the sum that identifies objects without a build id, and that detects damaged tables.
import { load32 } from "./machine";

const SUM_FACTOR: u32 = 0x9e37_79b1;
const WORD_BYTES: u64 = 4;
const ROUND_BYTES: u64 = 16;

// The `SUM_WORDS` words of the last sum. Use them under the lock.
let first: u32 = 0;
let second: u32 = 0;
let third: u32 = 0;
let fourth: u32 = 0;

@inline
function mixed(sum: u32, word: u32): u32 {
  return rotl<u32>(sum ^ word, 13) * SUM_FACTOR + 1;
}

/** Computes the same sum as `tables/sum.ts` does for the bytes of a file. */
function addUp(start: u64, bytes: u64): void {
  let a: u32 = 0;
  let b: u32 = 0;
  let c: u32 = 0;
  let d: u32 = 0;
  let at = start;
  const end = start + (bytes & ~(WORD_BYTES - 1));
  for (; at + ROUND_BYTES <= end; at += ROUND_BYTES) {
    a = mixed(a, load32(at));
    b = mixed(b, load32(at + 4));
    c = mixed(c, load32(at + 8));
    d = mixed(d, load32(at + 12));
  }
  if (at < end) a = mixed(a, load32(at));
  if (at + 4 < end) b = mixed(b, load32(at + 4));
  if (at + 8 < end) c = mixed(c, load32(at + 8));
  first = a;
  second = b;
  third = c;
  fourth = d;
}

export function storeSum(to: usize, start: u64, bytes: u64): void {
  addUp(start, bytes);
  store<u32>(to, first);
  store<u32>(to, second, 4);
  store<u32>(to, third, 8);
  store<u32>(to, fourth, 12);
}

export function hasSum(sum: u64, start: u64, bytes: u64): bool {
  addUp(start, bytes);
  return (
    load32(sum) === first &&
    load32(sum + 4) === second &&
    load32(sum + 8) === third &&
    load32(sum + 12) === fourth
  );
}
