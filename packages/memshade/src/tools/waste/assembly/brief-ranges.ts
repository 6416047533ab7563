// Ranges in the engine with one id per byte: bulk instructions, data segments, and the host.
import { loadRecord, outside } from "./brief";
import { bump, hostReadsAll, isValid, overwrite, readRange, setInit } from "./bytes";
import { storeRecord } from "./ids";
import { LINE_SHIFT, markDirty, NO_LINE, showZeros, takeDirty } from "./dirty";
import {
  C_INIT_BYTES, C_LOAD_SITE, C_STORE_SITE, CONTROL, COVERED, L_BYTES, L_LOADS, L_SILENT, S_SILENT, S_SILENT_BYTES,
  S_STORES, S_WRITTEN,
} from "./layout";
import { notePages } from "./memory";
import { programLoad64, programLoad8 } from "./program";

export function writeRange(address: u32, size: u32, site: u32, equal: bool): void {
  const record = storeRecord(site);
  bump(record + S_STORES, 1);
  bump(record + S_WRITTEN, size);
  if (equal && size != 0 && isValid(address, size)) {
    bump(record + S_SILENT, 1);
    bump(record + S_SILENT_BYTES, size);
  }
  markDirty(address, size);
  overwrite(address, size, site);
}

/** Whether two ranges of the program's memory hold the same. */
function holdSame(one: u32, other: u32, size: u32): bool {
  for (; size >= 8; size -= 8, one += 8, other += 8) if (programLoad64(one) != programLoad64(other)) return false;
  for (; size != 0; size--, one++, other++) if (programLoad8(one) != programLoad8(other)) return false;
  return true;
}

/** Whether all bytes of a range of the program's memory are `value`. */
function holds(address: u32, value: u32, size: u32): bool {
  const values = <u64>value * 0x0101010101010101;
  for (; size >= 8; size -= 8, address += 8) if (programLoad64(address) != values) return false;
  for (; size != 0; size--, address++) if (programLoad8(address) != value) return false;
  return true;
}

export function copying(destination: u32, source: u32, size: u32): void {
  if (outside(destination, size) || outside(source, size)) return;
  if (size != 0) { programLoad8(destination + size - 1); programLoad8(source + size - 1); }
  readBulk(source, size);
  const site = load<u32>(CONTROL, C_STORE_SITE);
  writeRange(destination, size, site, holdSame(destination, source, size));
}

/** A copy has put bytes of another memory here: what they are is not compared with what was there. */
export function arrived(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE), false);
}

/** A copy has read bytes for another memory. */
export function left(address: u32, size: u32): void {
  if (!outside(address, size)) readBulk(address, size);
}

function readBulk(address: u32, size: u32): void {
  const record = loadRecord(load<u32>(CONTROL, C_LOAD_SITE));
  bump(record + L_LOADS, 1);
  bump(record + L_BYTES, size);
  if (readRange(address, size) && size != 0) bump(record + L_SILENT, 1);
}

export function filling(address: u32, value: u32, size: u32): void {
  if (outside(address, size)) return;
  if (size != 0) programLoad8(address + size - 1);
  const site = load<u32>(CONTROL, C_STORE_SITE);
  writeRange(address, size, site, holds(address, value & 255, size));
}

let initEqual = false;

/** Before `memory.init`: `size` of its bytes are at C_INIT_BYTES; `done` of them came before. */
export function initializing(address: u32, size: u32, done: u32): void {
  if (done == 0) initEqual = true;
  for (let i: u32 = 0; i < size; i++) {
    const isEqual = programLoad8(address + i) == load<u8>(CONTROL + C_INIT_BYTES + i);
    initEqual = initEqual && isEqual;
  }
}

/** Behind `memory.init`. */
export function initialized(address: u32, size: u32): void {
  if (outside(address, size)) return;
  const site = load<u32>(CONTROL, C_STORE_SITE);
  writeRange(address, size, site, initEqual);
}

export function segment(address: u32, size: u32): void {
  if (outside(address, size)) return;
  markDirty(address, size);
  setInit(address, size);
}

export function hostRead(address: u32, size: u32): void {
  if (!outside(address, size)) readRange(address, size);
}

export function hostWrote(address: u32, size: u32): void {
  if (!outside(address, size)) writeRange(address, size, load<u32>(CONTROL, C_STORE_SITE), false);
}

/** A host that says nothing of what it reads is in control: it may have read everything. */
export function hostMayRead(): void {
  notePages();
  showZeros();
  for (let line = takeDirty(); line != NO_LINE; line = takeDirty()) {
    // Inline stores mark the line of their first byte only.
    const end: u32 = min<u32>(((line + 1) << LINE_SHIFT) + 16, COVERED);
    hostReadsAll(line << LINE_SHIFT, end);
  }
}

export function touched(address: u32, size: u32): void {
  hostRead(address, size);
}
