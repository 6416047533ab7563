import { FormatError } from "../bytes/errors.ts";
import type { DwarfFile } from "./dwarf-file.ts";
import { SortedIntervals } from "./sorted-intervals.ts";
import { NAMES, ROW, type SubroutineColumns } from "./subroutine-columns.ts";
import type { Unit } from "./unit.ts";
import type { ScannedUnits } from "./usual-unit-scan.ts";
import { type DwarfWasm, dwarfWasm } from "./wasm-module.ts";

/** Sections that all units of a file use are copied; of larger ones the copy would cost too much memory. */
const MOST_SHARED_BYTES = 64 << 20;
/** Larger units are read in place. */
const MOST_UNIT_BYTES = 64 << 20;

const NOWHERE = 0xffffffff;
/** Versions without indices do not need to be looked through for them. */
const NO_TABLES = { addresses: NOWHERE, rangeLists: NOWHERE };

const ABBREVIATIONS = ".debug_abbrev";
const OLD_LISTS = ".debug_ranges";
const NEW_LISTS = ".debug_rnglists";
const ADDRESSES = ".debug_addr";

/** The file whose sections the loops have; undefined in place of one whose sections do not fit. */
let entered: EnteredFile | undefined;

export interface EnteredFile {
  readonly file: DwarfFile;
  readonly wasm: DwarfWasm | undefined;
  /** Its units, if they were scanned: null where they are unusual. */
  units?: ScannedUnits | null;
}

/**
 * The subroutines of a unit as nearly all are, read in WebAssembly: it needs no time to warm up. What is unusual there, or
 * damaged, is not reported and not guessed.
 *
 * @param address only subroutines at this one are looked for: the columns are good for it alone, and until the next call
 *   of anything here
 * @returns undefined for a unit that is to be read by `readSubroutines`
 */
export function readUsualSubroutines(unit: Unit, address?: number): SubroutineColumns | undefined {
  const { header, file } = unit;
  const size = header.end - header.dieOffset;
  if (size > MOST_UNIT_BYTES || header.end > 0xffffffff) return undefined;
  const wasm = enter(unit);
  if (wasm === undefined || !setBases(wasm, unit)) return undefined;
  const entries = wasm.reserve(size);
  if (entries !== 0) file.info.copyTo(new Uint8Array(wasm.memory.buffer, entries, size), header.dieOffset);
  if (address === undefined) wasm.wantAll();
  else wasm.wantOne(address);
  wasm.readSubroutines(entries, size, header.dieOffset, header.abbreviationOffset);
  if (wasm.isUnusual.value !== 0) return undefined;
  const { buffer } = wasm.memory;
  const count = wasm.rowCount.value;
  if (address !== undefined)
    return {
      rows: new Uint32Array(buffer, wasm.rows.value, count * ROW),
      names: new Uint32Array(buffer, wasm.names.value, count * NAMES),
      starts: new Float64Array(buffer, wasm.starts.value, count),
      intervals: new SortedIntervals([address], [address + 1], [wasm.valueAtWanted()]),
    };
  const intervals = wasm.intervalCount.value;
  return {
    rows: new Uint32Array(buffer, wasm.rows.value, count * ROW).slice(),
    names: new Uint32Array(buffer, wasm.names.value, count * NAMES).slice(),
    starts: new Float64Array(buffer, wasm.starts.value, count).slice(),
    intervals: new SortedIntervals(
      new Float64Array(buffer, wasm.intervalStarts.value, intervals).slice(),
      new Float64Array(buffer, wasm.intervalEnds.value, intervals).slice(),
      new Int32Array(buffer, wasm.intervalValues.value, intervals).slice(),
    ),
  };
}

/** Begins with a unit; undefined if it is none of the usual ones. */
function enter(unit: Unit): DwarfWasm | undefined {
  const { header, file } = unit;
  if (unit.isSplit || unit.skeleton !== undefined || unit.contributions !== undefined) return undefined;
  const { wasm } = enterFile(file);
  if (wasm === undefined || header.abbreviationOffset > 0xffffffff) return undefined;
  wasm.begin();
  wasm.setEncoding(header.version, header.offsetSize, header.addressSize);
  return wasm;
}

/** Begins with a file: what was entered of others is gone. */
export function enterFile(file: DwarfFile): EnteredFile {
  if (entered?.file !== file) entered = { file, wasm: copySections(file) };
  return entered;
}

function copySections(file: DwarfFile): DwarfWasm | undefined {
  const sizeOf = (name: string) => file.part(name)?.bytes.length ?? 0;
  const size = [ABBREVIATIONS, OLD_LISTS, NEW_LISTS, ADDRESSES].reduce((sum, name) => sum + sizeOf(name), 0);
  if (size > MOST_SHARED_BYTES) return undefined;
  const wasm = dwarfWasm();
  wasm.clear();
  wasm.begin();
  const enterSection = (name: string, set: (start: number, size: number) => void) => {
    const part = file.part(name);
    const bytes = part?.bytes.length ?? 0;
    const start = bytes === 0 ? 0 : wasm.reserve(bytes);
    if (start !== 0) part?.copyTo(new Uint8Array(wasm.memory.buffer, start, bytes), 0);
    set(start, start === 0 ? 0 : bytes);
  };
  enterSection(ABBREVIATIONS, wasm.setAbbreviations);
  enterSection(OLD_LISTS, wasm.setOldLists);
  enterSection(NEW_LISTS, wasm.setNewLists);
  enterSection(ADDRESSES, wasm.setAddresses);
  wasm.setWork(file.mostRangeWork);
  wasm.keep();
  return wasm.isUnusual.value === 0 ? wasm : undefined;
}

/** Copies bytes into the memory. */
export function put(wasm: DwarfWasm, bytes: Uint8Array): number {
  const start = wasm.reserve(bytes.length);
  if (start !== 0) new Uint8Array(wasm.memory.buffer, start, bytes.length).set(bytes);
  return start;
}

/** What the unit's range lists count from. */
function setBases(wasm: DwarfWasm, unit: Unit): boolean {
  try {
    const { addresses, rangeLists } = unit.header.version < 5 ? NO_TABLES : unit.bases;
    wasm.setBases(unit.baseAddress ?? 0, addresses, rangeLists);
    return addresses <= NOWHERE && rangeLists <= NOWHERE;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}
