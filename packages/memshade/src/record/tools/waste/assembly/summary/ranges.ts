// Ranges in summary mode: bulk instructions, data segments, and the host.
import { loadRecord, outside } from "./accesses";
import { areValid, bump, hostReadsAll, overwrite, readRange, setInit } from "./bytes";
import { NO_LINE, markDirty, showZeros, takeDirty } from "../dirty";
import { carriesMarks, markRangeRead } from "./objects";
import { storeRecord } from "./ids";
import { CONTROL, COVERED, programLoad64, programLoad8 } from "../imports";
import { Control, DIRTY_LINE_SHIFT, Load, Store } from "../layout.generated";
import { notePages } from "../memory";

export function writeRange(address: u32, size: u32, site: u32, equal: bool): void {
  const record = storeRecord(site);
  bump(record + Store.stores, 1);
  bump(record + Store.written, size);
  if (equal && size !== 0 && areValid(address, size)) {
    bump(record + Store.silent, 1);
    bump(record + Store.silentBytes, size);
  }
  markDirty(address, size);
  overwrite(address, size, site);
}

/** Whether two ranges of the program's memory hold the same. */
function holdSame(one: u32, other: u32, size: u32): bool {
  for (; size >= 8; size -= 8, one += 8, other += 8)
    if (programLoad64(one) !== programLoad64(other)) return false;
  for (; size !== 0; size--, one++, other++) if (programLoad8(one) !== programLoad8(other)) return false;
  return true;
}

/** Whether all bytes of a range of the program's memory are `value`. */
function holds(address: u32, value: u32, size: u32): bool {
  const values = <u64>value * 0x0101010101010101;
  for (; size >= 8; size -= 8, address += 8) if (programLoad64(address) !== values) return false;
  for (; size !== 0; size--, address++) if (programLoad8(address) !== value) return false;
  return true;
}

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  if (size !== 0) {
    programLoad8(destination + size - 1);
    programLoad8(source + size - 1);
  }
  if (!carriesMarks(destination, source, size)) markRangeRead(source, size);
  readBulk(source, size);
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(destination, size, site, holdSame(destination, source, size));
}

/** A copy has read bytes for another memory. */
export function left(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markRangeRead(address, size);
  readBulk(address, size);
}

function readBulk(address: u32, size: u32): void {
  const record = loadRecord(load<u32>(CONTROL, Control.loadSite));
  bump(record + Load.loads, 1);
  bump(record + Load.bytes, size);
  if (readRange(address, size) && size !== 0) bump(record + Load.silent, 1);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size !== 0) programLoad8(address + size - 1);
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(address, size, site, holds(address, value & 255, size));
}

let initEqual = false;

/** Before `memory.init` or a copy from another memory: `size` of the bytes are at Control.initBytes; `done` of them came before. */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done === 0) initEqual = true;
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(address + i) === load<u8>(CONTROL + Control.initBytes + i);
    initEqual = initEqual && isEqual;
  }
}

/** Behind that. */
export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  const site = load<u32>(CONTROL, Control.storeSite);
  writeRange(address, size, site, initEqual);
}

export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markDirty(address, size);
  setInit(address, size);
}

export function hostRead(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markRangeRead(address, size);
  readRange(address, size);
}

/** The host wrote: that is not compared with what was there. */
export function hostWrote(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, Control.storeSite), false);
}

/** A host that says nothing of what it reads is in control: it may have read everything. */
export function hostMayRead(): void {
  notePages();
  showZeros();
  for (let line = takeDirty(); line !== NO_LINE; line = takeDirty()) {
    // Inline stores mark the line of their first byte only.
    const end: u32 = min<u32>(((line + 1) << DIRTY_LINE_SHIFT) + 16, COVERED);
    hostReadsAll(line << DIRTY_LINE_SHIFT, end);
  }
}
