// What precise mode knows of a byte: a word with its last writer and state, its last reader, and the value that saw.
import { shownEnd, showsZeros } from "../dirty";
import {
  CONTROL,
  COVERED,
  LOADS,
  READERS,
  STORES,
  WRITERS,
  ZERO_IS_VALID,
  readersLoad,
  readersStore,
  writersLoad,
  writersStore,
} from "../imports";
import { Control, RECORD_BYTES, Store } from "../layout.generated";

// A writer's word: state in the two highest bits, key below. 0 is memory as the system gave it.
export const KEY: u32 = 0x3fffffff;
export const UNREAD: u32 = 0x40000000;
export const READ: u32 = 0x80000000;
export const INVALID: u32 = 0xc0000000;
export const STATE: u32 = 0xc0000000;
/** Writer of data segments. Keys of store sites begin at 1. */
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

/** State of a writer's word, also of one that was never written. */
@inline
export function stateOf(word: u32): u32 {
  return word !== 0 ? word & STATE : ZERO_IS_VALID !== 0 ? UNREAD : INVALID;
}

export function outside(address: u32, size: u32): bool {
  if (address < COVERED && size <= COVERED - address) return false;
  store<u32>(CONTROL, load<u32>(CONTROL, Control.outside) + 1, Control.outside);
  return true;
}

/** The byte is read: its writer gets the credit, once. True if it had been read since it was written. */
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
