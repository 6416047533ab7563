// Ranges whose bytes are all valid, because loops of the nest at hand have stored to them: nothing in a nest makes bytes invalid. Inline
// code of the next loop that stores looks at the one to which the last has: see `takeValid` in `instrument/waste/loop-nests.ts`.
import { isValid } from "./chosen/bytes";
import { C_VALID, CONTROL } from "./layout";

/** Where accesses of up to 16 bytes begin that are within the range, and how many bytes. */
const FIRST: usize = 0;
const LENGTH: usize = 4;
const LONGEST_ACCESS: u32 = 16;
/** How many ranges, and how many there were. */
const COUNT: usize = 8;
const LEARNED: usize = 12;
const ENTRIES: usize = 16;
const MOST_ENTRIES: u32 = 8;
const LOW: usize = 0;
const HIGH: usize = 4;
const ENTRY_SHIFT: u32 = 3;
/** Bytes between two ranges that are looked at, for them to become one. */
const MOST_BETWEEN: u32 = 64;

@inline function entry(i: u32): usize { return CONTROL + C_VALID + ENTRIES + (i << ENTRY_SHIFT); }

export function forgetValid(): void {
  store<u32>(CONTROL, 0, C_VALID + LENGTH);
  store<u32>(CONTROL, 0, C_VALID + COUNT);
}

/** A loop has stored to all bytes of a range. */
export function learnValid(low: u32, high: u32): void {
  const first = load<u32>(CONTROL, C_VALID + FIRST);
  const length = load<u32>(CONTROL, C_VALID + LENGTH);
  if (low >= first && high < first + length + LONGEST_ACCESS) return;
  for (let i: u32 = 0; i < load<u32>(CONTROL, C_VALID + COUNT); i++) {
    const at = entry(i);
    if (low > load<u32>(at, HIGH) + MOST_BETWEEN || high + MOST_BETWEEN < load<u32>(at, LOW)) continue;
    if (!areValid(high, load<u32>(at, LOW)) || !areValid(load<u32>(at, HIGH), low)) continue;
    store<u32>(at, min(low, load<u32>(at, LOW)), LOW);
    store<u32>(at, max(high, load<u32>(at, HIGH)), HIGH);
    show(at);
    return;
  }
  const count = load<u32>(CONTROL, C_VALID + COUNT);
  const learned = load<u32>(CONTROL, C_VALID + LEARNED);
  store<u32>(CONTROL, learned + 1, C_VALID + LEARNED);
  if (count != MOST_ENTRIES) store<u32>(CONTROL, count + 1, C_VALID + COUNT);
  const at = entry(count != MOST_ENTRIES ? count : learned & (MOST_ENTRIES - 1));
  store<u32>(at, low, LOW);
  store<u32>(at, high, HIGH);
  show(at);
}

/** Whether all bytes from `low` on are valid, if there are any before `high`. */
function areValid(low: u32, high: u32): bool {
  for (; low < high; low++) if (!isValid(low, 1)) return false;
  return true;
}

function show(at: usize): void {
  const low = load<u32>(at, LOW);
  const length = load<u32>(at, HIGH) - low;
  store<u32>(CONTROL, low, C_VALID + FIRST);
  store<u32>(CONTROL, length < LONGEST_ACCESS ? 0 : length - (LONGEST_ACCESS - 1), C_VALID + LENGTH);
}
