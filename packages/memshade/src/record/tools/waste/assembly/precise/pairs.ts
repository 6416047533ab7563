import { CONTROL, PAIRS, PAIR_MASK } from "../imports";
import { Control, PAIR_BYTES } from "../layout.generated";

export const GREW: u32 = 1;
export const MOVED: u32 = 2;

let operation: u32 = 0;

/** Another operation begins: it counts once in every pair that it adds bytes to. */
@inline
export function beginOperation(): void {
  operation++;
}

/** Adds bytes to the pair of two keys: {first, second, kind, last operation, bytes, operations}. */
export function addPair(kind: u32, first: u32, second: u32, bytes: u32): void {
  findPair(kind, first, second, bytes);
}

/** Adds to a pair that is there. */
@inline
function extendPair(at: usize, bytes: u32): void {
  store<u64>(at, load<u64>(at, 16) + bytes, 16);
  if (load<u32>(at, 12) === operation) return;
  store<u32>(at, operation, 12);
  store<u64>(at, load<u64>(at, 24) + 1, 24);
}

/**
 * As `addPair` for a key that has a memo of two words: the other key, not 0, of the pair of this kind that it added to last, and where
 * that pair is.
 */
@inline
export function addPairOf(memo: usize, other: u32, kind: u32, first: u32, second: u32, bytes: u32): void {
  if (load<u32>(memo) === other) {
    extendPair(load<u32>(memo, 4), bytes);
    return;
  }
  const at = findPair(kind, first, second, bytes);
  if (at === 0) return;
  store<u32>(memo, other);
  store<u32>(memo, at, 4);
}

/** Adds to a pair, and returns where it is; 0: there is no room for it. */
function findPair(kind: u32, first: u32, second: u32, bytes: u32): u32 {
  let h: u32 = first * 0x9e3779b1 + second * 0x85ebca6b + kind * 0xc2b2ae35;
  h ^= h >>> 15;
  for (let tries: u32 = 0; tries < 1024; tries++) {
    const at: usize = PAIRS + ((h + tries) & PAIR_MASK) * PAIR_BYTES;
    const found = load<u32>(at, 8);
    if (found === 0) {
      store<u32>(at, first);
      store<u32>(at, second, 4);
      store<u32>(at, kind, 8);
      store<u32>(CONTROL, load<u32>(CONTROL, Control.pairsUsed) + 1, Control.pairsUsed);
    } else if (found !== kind || load<u32>(at) !== first || load<u32>(at, 4) !== second) continue;
    extendPair(at, bytes);
    return <u32>at;
  }
  store<u32>(CONTROL, load<u32>(CONTROL, Control.pairsLost) + bytes, Control.pairsLost);
  return 0;
}
