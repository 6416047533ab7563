// Loads and stores of precise mode: byte-exact, with a writer, a reader and the value seen for every byte.
import { keptIsNear, lanesNear, seenIsNear } from "./approximate";
import { loadKey, storeKey } from "./contexts";
import { markDirty } from "../dirty";
import { CONTROL, SEEN, programLoad32, programLoad64, programLoad8 } from "../imports";
import { BlockFlag, Control, Load, Pair, Store } from "../layout.generated";
import {
  blockAccessed,
  blockAccessedBy,
  fieldOverwritten,
  fieldRead,
  fieldSilent,
  fieldWritten,
  tick,
} from "./objects";
import { addPair, beginOperation } from "./pairs";
import { loadedAlike, storedOver } from "./same-bytes";
import {
  INIT_KEY,
  INVALID,
  KEY,
  UNREAD,
  bump,
  creditByte,
  isReal,
  loadRecord,
  outside,
  readerAt,
  setReader,
  setWord,
  stateOf,
  storeRecord,
  wordAt,
} from "./state";
import { noteValueAt } from "./values";

/** Bytes by one key that follow each other, on their way into the pair of that key and another. */
let runKey: u32 = 0;
let runBytes: u32 = 0;

@inline
function extendRun(kind: u32, key: u32, other: u32): void {
  if (key !== runKey && runBytes !== 0) {
    addPair(kind, runKey, other, runBytes);
    runBytes = 0;
  }
  runKey = key;
  runBytes++;
}

@inline
function endRun(kind: u32, other: u32): void {
  if (runBytes !== 0) addPair(kind, runKey, other, runBytes);
  runBytes = 0;
}

/** A load by the program of `size` bytes; `float` is the size of the operand's floats, else 0. */
export function loadBytes(address: u32, size: u32, site: u32, float: u32): void {
  const key = loadKey(site);
  if (loadedAlike(address, size, key, float)) return;
  const record = loadRecord(key);
  tick();
  blockAccessed(address, size, BlockFlag.read);
  beginOperation();
  blockAccessedBy(address, size, key, Pair.readsFrom);
  bump(record + Load.loads, 1);
  bump(record + Load.bytes, size);
  let stale = size !== 0;
  let redundant = size !== 0;
  let hasReaders = true;
  let zeros: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    if (!creditByte(at)) stale = false;
    fieldRead(at);
    const value = programLoad8(at);
    if (value === 0) zeros++;
    if (readerAt(at) === 0) {
      redundant = false;
      hasReaders = false;
    } else if (load<u8>(SEEN + at) !== value) redundant = false;
  }
  if (stale) bump(record + Load.silent, 1);
  bump(record + Load.zeroBytes, zeros);
  if (redundant) {
    bump(record + Load.redundant, 1);
    bump(record + Load.redundantBytes, size);
    noteValueAt(key, address, size);
  } else if (float !== 0 && hasReaders && seenIsNear(address, size, float))
    bump(record + Load.approximate, 1);
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    if (redundant) extendRun(Pair.redundant, readerAt(at), key);
    setReader(at, key);
    store<u8>(SEEN + at, <u8>programLoad8(at));
  }
  endRun(Pair.redundant, key);
}

/** Behind a load by site `site`. */
export function loaded(address: u32, size: u32, site: u32, float: u32): void {
  if (!outside(address, size)) loadBytes(address, size, site, float);
}

/** Keeps the bytes that a store is about to change. Traps where the store would. */
export function storing(address: u32, size: u32): void {
  if (size === 4) store<u32>(CONTROL, programLoad32(address), Control.scratch);
  else if (size === 8) store<u64>(CONTROL, programLoad64(address), Control.scratch);
  else
    for (let i: u32 = 0; i < size; i++)
      store<u8>(CONTROL + Control.scratch + i, <u8>programLoad8(address + i));
}

// A store in three steps: begin, one call per byte that says whether its value is there already, end.
let storeSame: u32 = 0;
let storeZero: u32 = 0;
let storeValid: u32 = 0;

export function beginStore(address: u32, size: u32): void {
  tick();
  blockAccessed(address, size, BlockFlag.written);
  beginOperation();
  storeSame = 0;
  storeZero = 0;
  storeValid = 0;
}

@inline
export function compareByte(address: u32, isEqual: bool): void {
  const word = wordAt(address);
  const isValid = stateOf(word) !== INVALID;
  storeValid += isValid ? 1 : 0;
  storeSame += isEqual && isValid ? 1 : 0;
  storeZero += (word & KEY) === 0 && isValid ? 1 : 0;
}

@inline
export function isWhollyValid(size: u32): bool {
  return storeValid === size;
}

/** Counts the store and gives its bytes their new writer. True if it was silent. */
export function endStore(address: u32, size: u32, key: u32): bool {
  const record = storeRecord(key);
  bump(record + Store.stores, 1);
  bump(record + Store.written, size);
  bump(record + Store.same, storeSame);
  const silent = storeSame === size && size !== 0;
  if (silent) {
    bump(record + Store.silent, 1);
    bump(record + Store.silentBytes, size);
    if (storeZero === size) bump(record + Store.overZero, 1);
    for (let i: u32 = 0; i < size; i++) {
      extendRun(Pair.silent, wordAt(address + i) & KEY, key);
      fieldSilent(address + i);
    }
    endRun(Pair.silent, key);
  }
  blockAccessedBy(address, size, key, Pair.writesInto);
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) overwriteByte(address + i, key);
  endRun(Pair.overwritten, key);
  return silent;
}

@inline
function overwriteByte(address: u32, key: u32): void {
  const word = wordAt(address);
  const writer = word & KEY;
  if (stateOf(word) === UNREAD && isReal(writer)) {
    bump(storeRecord(writer) + Store.overwritten, 1);
    fieldOverwritten(address, writer);
    extendRun(Pair.overwritten, writer, key);
  } else if (writer === INIT_KEY) bump(storeRecord(key) + Store.overSegment, 1);
  fieldWritten(address);
  setWord(address, UNREAD | key);
}

/** Behind a store of `size` bytes by site `site`; `storing` came before. `float` as in `loadBytes`. */
export function stored(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  const key = storeKey(site);
  if (storedOver(address, size, key, float)) return;
  beginStore(address, size);
  for (let i: u32 = 0; i < size; i++)
    compareByte(address + i, load<u8>(CONTROL + Control.scratch + i) === programLoad8(address + i));
  const isFloat = float !== 0 && isWhollyValid(size);
  if (float !== 0 && float < size) bump(storeRecord(key) + Store.lanes, lanesNear(address, size, float));
  const silent = endStore(address, size, key);
  if (isFloat && !silent && keptIsNear(address, size, float)) bump(storeRecord(key) + Store.approximate, 1);
}
