// Loads and stores of precise mode. For every byte, a writer, a reader and the last value seen are recorded.

import { CONTROL, COVERED, programLoad8, programLoad32, programLoad64, SEEN } from "../imports";
import { BlockFlag, Control, DIRTY_LINE_SHIFT, Load, Pair, Store } from "../layout.generated";
import { markDirty, NO_LINE, notePages, showZeros, takeDirty } from "../memory";
import { loadKey, storeKey } from "./contexts";
import {
  blockAccessed,
  blockAccessedBy,
  fieldOverwritten,
  fieldRead,
  fieldSilent,
  fieldWritten,
  tick,
} from "./objects";
import { keptIsNear, lanesNear, loadedAlike, noteValueAt, seenIsNear, storedOver } from "./same-bytes";
import {
  addPair,
  beginOperation,
  bump,
  creditByte,
  INIT_KEY,
  INVALID,
  isReal,
  KEY,
  loadRecord,
  outside,
  READ,
  readerAt,
  STATE,
  setReader,
  setWord,
  stateOf,
  storeRecord,
  UNREAD,
  wordAt,
} from "./state";

/** Run of consecutive bytes with one key. It is added to the pair of that key and another at once. */
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

/** Records a load of `size` bytes by the program. `float` is the size of the operand's floats, 0 if it has none. */
function loadBytes(address: u32, size: u32, site: u32, float: u32): void {
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

// A store takes three steps: begin, one `compareByte` per byte, end.
let storeSame: u32 = 0;
let storeZero: u32 = 0;
let storeValid: u32 = 0;

function beginStore(address: u32, size: u32): void {
  tick();
  blockAccessed(address, size, BlockFlag.written);
  beginOperation();
  storeSame = 0;
  storeZero = 0;
  storeValid = 0;
}

@inline
function compareByte(address: u32, isEqual: bool): void {
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

/** Counts the store and makes it the writer of its bytes. Returns true if it was silent. */
function endStore(address: u32, size: u32, key: u32): bool {
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

/**
 * Called after a store of `size` bytes by site `site`; `storing` was called before it. `float` is as in `loadBytes`.
 */
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

// Ranges: bulk instructions, data segments, and the host.

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  if (size !== 0) {
    programLoad8(destination + size - 1);
    programLoad8(source + size - 1);
  }
  loadBytes(source, size, load<u32>(CONTROL, Control.loadSite), 0);
  const key = storeKey(load<u32>(CONTROL, Control.storeSite));
  beginStore(destination, size);
  for (let i: u32 = 0; i < size; i++)
    compareByte(destination + i, programLoad8(destination + i) === programLoad8(source + i));
  endStore(destination, size, key);
}

export function left(address: u32, size: u32): void {
  if (!outside(address, size)) loadBytes(address, size, load<u32>(CONTROL, Control.loadSite), 0);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size !== 0) programLoad8(address + size - 1);
  beginStore(address, size);
  for (let i: u32 = 0; i < size; i++) compareByte(address + i, programLoad8(address + i) === (value & 255));
  endRange(address, size);
}

function endRange(address: u32, size: u32): void {
  endStore(address, size, storeKey(load<u32>(CONTROL, Control.storeSite)));
}

/**
 * Called before `memory.init` or a copy from another memory, once per piece. `size` bytes are at Control.initBytes;
 * `done` bytes were compared before.
 */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done === 0) beginStore(address, size);
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = load<u8>(CONTROL + Control.initBytes + i) === programLoad8(address + i);
    if (address + i < COVERED) compareByte(address + i, isEqual);
  }
}

export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size === 0) beginStore(address, size);
  endRange(address, size);
}

export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markDirty(address, size);
  for (let i: u32 = 0; i < size; i++) setWord(address + i, UNREAD | INIT_KEY);
}

export function hostRead(address: u32, size: u32): void {
  if (outside(address, size)) return;
  tick();
  blockAccessed(address, size, BlockFlag.read);
  for (let i: u32 = 0; i < size; i++) {
    creditByte(address + i);
    fieldRead(address + i);
  }
}

/** Records a write by the host for the current call. The bytes are not compared with the earlier ones. */
export function hostWrote(address: u32, size: u32): void {
  if (outside(address, size)) return;
  beginStore(address, size);
  endRange(address, size);
}

export function zeroed(address: u32, size: u32, site: u32): void {
  store<u32>(CONTROL, site, Control.storeSite);
  beginStore(address, 0);
  endRange(address, size);
}

/** Counts all dirty bytes as read by the host, whose reads are unknown. */
export function hostMayRead(): void {
  notePages();
  showZeros();
  for (let line = takeDirty(); line !== NO_LINE; line = takeDirty()) {
    const end = min<u32>((line + 1) << DIRTY_LINE_SHIFT, COVERED);
    for (let at: u32 = line << DIRTY_LINE_SHIFT; at < end; at++) {
      const word = wordAt(at);
      if ((word & STATE) !== UNREAD) continue;
      const key = word & KEY;
      if (isReal(key)) {
        bump(storeRecord(key) + Store.hostRead, 1);
        fieldRead(at);
      }
      setWord(at, READ | key);
    }
  }
}
