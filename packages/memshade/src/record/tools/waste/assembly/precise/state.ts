// State per byte in precise mode: a word with its last writer and state, its last reader, and the value that the reader
// saw.

import {
  CONTROL,
  COVERED,
  LOADS,
  PAIR_MASK,
  PAIRS,
  READERS,
  readersLoad,
  readersStore,
  STORES,
  WRITERS,
  writersLoad,
  writersStore,
  ZERO_IS_VALID,
} from "../imports";
import { Control, PAIR_BYTES, RECORD_BYTES, Store } from "../layout.generated";
import { shownEnd, showsZeros } from "../memory";

// Word of a writer: state in the two highest bits, key below. 0 is memory as the system provided it.
export const KEY: u32 = 0x3fffffff;
export const UNREAD: u32 = 0x40000000;
export const READ: u32 = 0x80000000;
export const INVALID: u32 = 0xc0000000;
export const STATE: u32 = 0xc0000000;
/** Key of data segments. Keys of store sites begin at 1. */
export const INIT_KEY: u32 = 0x3fffffff;

@inline
export function bump(at: usize, by: u64): void {
  store<u64>(at, load<u64>(at) + by);
}
@inline
export function storeRecord(key: u32): usize {
  return STORES + key * RECORD_BYTES;
}
@inline
export function loadRecord(key: u32): usize {
  return LOADS + key * RECORD_BYTES;
}
@inline
export function isReal(key: u32): bool {
  return key !== 0 && key !== INIT_KEY;
}
@inline
export function wordAt(address: u32): u32 {
  return writersLoad(WRITERS + (address << 2));
}
@inline
export function setWord(address: u32, word: u32): void {
  writersStore(WRITERS + (address << 2), word);
}
@inline
export function readerAt(address: u32): u32 {
  return readersLoad(READERS + (address << 2));
}
@inline
export function setReader(address: u32, key: u32): void {
  readersStore(READERS + (address << 2), key);
}

@inline
export function stateOf(word: u32): u32 {
  return word !== 0 ? word & STATE : ZERO_IS_VALID !== 0 ? UNREAD : INVALID;
}

export function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.outside) + 1, Control.outside);
  return true;
}

/** Credits the byte's writer with the first read. Returns true if the byte was already read since it was written. */
@inline
export function creditByte(address: u32): bool {
  const word = wordAt(address);
  const state = stateOf(word);
  if (state === READ) return true;
  if (state === UNREAD) {
    if (word === 0 && showsZeros() && address < shownEnd()) {
      setWord(address, READ);
      return true;
    }
    const key = word & KEY;
    if (isReal(key)) bump(storeRecord(key) + Store.read, 1);
    setWord(address, READ | key);
  }
  return false;
}

export const GREW: u32 = 1;
export const MOVED: u32 = 2;

let operation: u32 = 0;

/** Begins another operation. It counts once in every pair to which it adds bytes. */
@inline
export function beginOperation(): void {
  operation++;
}

/** Adds bytes to the pair of two keys: {first, second, kind, last operation, bytes, operations}. */
export function addPair(kind: u32, first: u32, second: u32, bytes: u32): void {
  findPair(kind, first, second, bytes);
}

@inline
function extendPair(at: usize, bytes: u32): void {
  store<u64>(at, load<u64>(at, 16) + bytes, 16);
  if (load<u32>(at, 12) === operation) return;
  store<u32>(at, operation, 12);
  store<u64>(at, load<u64>(at, 24) + 1, 24);
}

/**
 * Does the work of `addPair` for a key with a memo of two words. The words describe the pair of this kind that was last
 * used: its other key (not 0), and its address.
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

/** Adds bytes to a pair and returns its address; 0 if there is no room. */
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
