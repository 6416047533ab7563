// Ranges in precise mode: bulk instructions, data segments, and the host.
import { beginStore, compareByte, endStore, loadBytes } from "./accesses";
import { storeKey } from "./contexts";
import { NO_LINE, markDirty, showZeros, takeDirty } from "../dirty";
import { CONTROL, COVERED, programLoad8 } from "../imports";
import { BlockFlag, Control, DIRTY_LINE_SHIFT, Store } from "../layout.generated";
import { notePages } from "../memory";
import { blockAccessed, fieldRead, tick } from "./objects";
import {
  INIT_KEY,
  KEY,
  READ,
  STATE,
  UNREAD,
  bump,
  creditByte,
  isReal,
  outside,
  setWord,
  storeRecord,
  wordAt,
} from "./state";

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  // Traps as the copy would, before anything is counted.
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

/** A copy has read bytes for another memory. */
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

/** Before `memory.init` or a copy from another memory: `size` of the bytes are at Control.initBytes; `done` of them came before. */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done === 0) beginStore(address, size);
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = load<u8>(CONTROL + Control.initBytes + i) === programLoad8(address + i);
    if (address + i < COVERED) compareByte(address + i, isEqual);
  }
}

/** Behind that. */
export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size === 0) beginStore(address, size);
  endRange(address, size);
}

/** A data segment was put here before the program ran. */
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

/** The host wrote on behalf of the call at hand: that is not compared with what was there. */
export function hostWrote(address: u32, size: u32): void {
  if (outside(address, size)) return;
  beginStore(address, size);
  endRange(address, size);
}

/** The allocator handed out zeros on behalf of the store site `site`. */
export function zeroed(address: u32, size: u32, site: u32): void {
  store<u32>(CONTROL, site, Control.storeSite);
  beginStore(address, 0);
  endRange(address, size);
}

/** A host that says nothing of what it reads is in control: it may have read everything. */
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
