// Loads and stores of the full engine: byte-exact, with a writer, a reader and the value seen for every byte.
import { keptIsNear, lanesNear, seenIsNear } from "./approximate";
import { loadKey, storeKey } from "./contexts";
import { copiedByte, copyBytes, endedByte, followsCopies, usedByte } from "./copies";
import { markDirty } from "./dirty";
import {
  C_SCRATCH, CONTROL, L_APPROXIMATE, L_BYTES, L_LOADS, L_REDUNDANT, L_REDUNDANT_BYTES, L_SILENT, L_ZERO_BYTES,
  S_APPROXIMATE, S_LANES, S_OVER_SEGMENT, S_OVER_ZERO, S_OVERWRITTEN, S_SAME, S_SILENT, S_SILENT_BYTES, S_STORES, S_WRITTEN,
} from "./layout";
import { blockAccessed, fieldOverwritten, fieldRead, fieldSilent, fieldWritten, tick, TOUCH_READ, TOUCH_WRITE } from "./objects";
import { addPair, beginOperation, PAIR_OVERWRITTEN, PAIR_REDUNDANT, PAIR_SILENT } from "./pairs";
import { programLoad32, programLoad64, programLoad8 } from "./program";
import { loadedAlike, storedOver } from "./same-bytes";
import { noteValueAt } from "./values";
import {
  bump, creditByte, INIT_KEY, INVALID, isReal, KEY, loadRecord, outside, readerAt, SEEN, setReader, setWord, stateOf, storeRecord,
  UNREAD, wordAt,
} from "./state";

/** Bytes by one key that follow each other, on their way into the pair of that key and another. */
let runKey: u32 = 0;
let runBytes: u32 = 0;

@inline function extendRun(kind: u32, key: u32, other: u32): void {
  if (key != runKey && runBytes != 0) {
    addPair(kind, runKey, other, runBytes);
    runBytes = 0;
  }
  runKey = key;
  runBytes++;
}

@inline function endRun(kind: u32, other: u32): void {
  if (runBytes != 0) addPair(kind, runKey, other, runBytes);
  runBytes = 0;
}

/** A load by the program of `size` bytes; `float` is the size of the operand's floats, else 0. */
export function loadBytes(address: u32, size: u32, site: u32, float: u32, copies: bool): void {
  const key = loadKey(site);
  if (loadedAlike(address, size, key, float)) return;
  const record = loadRecord(key);
  tick();
  blockAccessed(address, size, TOUCH_READ);
  beginOperation();
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  let stale = size != 0;
  let redundant = size != 0;
  let hasReaders = true;
  let zeros: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    if (copies) copiedByte(at);
    else usedByte(at);
    if (!creditByte(at)) stale = false;
    fieldRead(at);
    const value = programLoad8(at);
    if (value == 0) zeros++;
    if (readerAt(at) == 0) { redundant = false; hasReaders = false; }
    else if (load<u8>(SEEN + at) != value) redundant = false;
  }
  if (stale) bump(record + L_SILENT, 1);
  bump(record + L_ZERO_BYTES, zeros);
  if (redundant) {
    bump(record + L_REDUNDANT, 1);
    bump(record + L_REDUNDANT_BYTES, size);
    noteValueAt(key, address, size);
  } else if (float != 0 && hasReaders && seenIsNear(address, size, float)) bump(record + L_APPROXIMATE, 1);
  for (let i: u32 = 0; i < size; i++) {
    const at: u32 = address + i;
    if (redundant) extendRun(PAIR_REDUNDANT, readerAt(at), key);
    setReader(at, key);
    store<u8>(SEEN + at, <u8>programLoad8(at));
  }
  endRun(PAIR_REDUNDANT, key);
}

/** Behind a load by site `site`. */
export function loaded(address: u32, size: u32, site: u32, float: u32): void {
  if (!outside(address, size)) loadBytes(address, size, site, float, false);
}

const NOWHERE: u32 = 0xffffffff;
let movedFrom: u32 = NOWHERE;

/** A load whose value the next instruction stores, and nobody else sees. */
export function loadedToMove(address: u32, size: u32, site: u32, float: u32): void {
  movedFrom = NOWHERE;
  if (outside(address, size)) return;
  movedFrom = address;
  loadBytes(address, size, site, float, true);
}

/** Keeps the bytes that a store is about to change. Traps where the store would. */
export function storing(address: u32, size: u32): void {
  if (size == 4) store<u32>(CONTROL, programLoad32(address), C_SCRATCH);
  else if (size == 8) store<u64>(CONTROL, programLoad64(address), C_SCRATCH);
  else for (let i: u32 = 0; i < size; i++) store<u8>(CONTROL + C_SCRATCH + i, <u8>programLoad8(address + i));
}

// A store in three steps: begin, one call per byte that says whether its value is there already, end.
let storeSame: u32 = 0;
let storeZero: u32 = 0;
let storeValid: u32 = 0;

export function beginStore(address: u32, size: u32): void {
  tick();
  blockAccessed(address, size, TOUCH_WRITE);
  beginOperation();
  storeSame = 0;
  storeZero = 0;
  storeValid = 0;
}

@inline export function compareByte(address: u32, isEqual: bool): void {
  const word = wordAt(address);
  const isValid = stateOf(word) != INVALID;
  storeValid += isValid ? 1 : 0;
  storeSame += isEqual && isValid ? 1 : 0;
  storeZero += (word & KEY) == 0 && isValid ? 1 : 0;
}

@inline export function isWhollyValid(size: u32): bool { return storeValid == size; }

/** Counts the store and gives its bytes their new writer. True if it was silent. */
export function endStore(address: u32, size: u32, key: u32): bool {
  const record = storeRecord(key);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  bump(record + S_SAME, storeSame);
  const silent = storeSame == size && size != 0;
  if (silent) {
    bump(record + S_SILENT, 1);
    bump(record + S_SILENT_BYTES, size);
    if (storeZero == size) bump(record + S_OVER_ZERO, 1);
    for (let i: u32 = 0; i < size; i++) {
      extendRun(PAIR_SILENT, wordAt(address + i) & KEY, key);
      fieldSilent(address + i);
    }
    endRun(PAIR_SILENT, key);
  }
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) overwriteByte(address + i, key);
  endRun(PAIR_OVERWRITTEN, key);
  return silent;
}

@inline function overwriteByte(address: u32, key: u32): void {
  const word = wordAt(address);
  const writer = word & KEY;
  if (stateOf(word) == UNREAD && isReal(writer)) {
    bump(storeRecord(writer) + S_OVERWRITTEN, 1);
    fieldOverwritten(address, writer);
    extendRun(PAIR_OVERWRITTEN, writer, key);
  } else if (writer == INIT_KEY) bump(storeRecord(key) + S_OVER_SEGMENT, 1);
  fieldWritten(address);
  setWord(address, UNREAD | key);
}

/** Behind a store of `size` bytes by site `site`; `storing` came before. `float` as in `loadBytes`. */
export function stored(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  if (followsCopies()) for (let i: u32 = 0; i < size; i++) endedByte(address + i);
  finishStore(address, size, storeKey(site), float);
}

/** A store of what `loadedToMove` read just before. */
export function storedMove(address: u32, size: u32, site: u32, float: u32): void {
  if (outside(address, size)) return;
  const key = storeKey(site);
  if (movedFrom != NOWHERE) copyBytes(address, movedFrom, size, key);
  else for (let i: u32 = 0; i < size; i++) endedByte(address + i);
  finishStore(address, size, key, float);
}

function finishStore(address: u32, size: u32, key: u32, float: u32): void {
  if (storedOver(address, size, key, float)) return;
  beginStore(address, size);
  for (let i: u32 = 0; i < size; i++)
    compareByte(address + i, load<u8>(CONTROL + C_SCRATCH + i) == programLoad8(address + i));
  const isFloat = float != 0 && isWhollyValid(size);
  if (float != 0 && float < size) bump(storeRecord(key) + S_LANES, lanesNear(address, size, float));
  const silent = endStore(address, size, key);
  if (isFloat && !silent && keptIsNear(address, size, float)) bump(storeRecord(key) + S_APPROXIMATE, 1);
}
