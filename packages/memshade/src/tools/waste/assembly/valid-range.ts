// A range whose bytes are all valid, because loops of the nest at hand have stored to them: nothing in a nest makes bytes invalid. The
// inline code of loops looks at it: see `takeValid` in `tools/waste/pass/loop-nests.ts`.
import { isValid } from "./chosen/bytes";
import { C_VALID, CONTROL } from "./layout";

/** Where accesses of up to 16 bytes begin that are within the range, and how many bytes. */
const FIRST: usize = 0;
const LENGTH: usize = 4;
const LONGEST_ACCESS: u32 = 16;
/** Bytes behind the range that are looked at, for it to go on. */
const MOST_BETWEEN: u32 = 64;

export function forgetValid(): void {
  // Nothing lies behind this.
  store<u32>(CONTROL, -1, C_VALID + FIRST);
  store<u32>(CONTROL, 0, C_VALID + LENGTH);
}

/** A loop has stored to all bytes of a range. It continues the one that was, or takes its place. */
export function learnValid(low: u32, high: u32): void {
  let first = load<u32>(CONTROL, C_VALID + FIRST);
  let end = first + load<u32>(CONTROL, C_VALID + LENGTH) + (LONGEST_ACCESS - 1);
  if (low >= first && high <= end) return;
  if (low >= first && low <= end + MOST_BETWEEN) while (end < low && isValid(end, 1)) end++;
  if (low < first || low > end) first = low;
  if (high - first < LONGEST_ACCESS) return;
  store<u32>(CONTROL, first, C_VALID + FIRST);
  store<u32>(CONTROL, high - first - (LONGEST_ACCESS - 1), C_VALID + LENGTH);
}
