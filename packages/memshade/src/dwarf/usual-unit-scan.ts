import type { DwarfFile } from "./dwarf-file.ts";
import { enterFile } from "./usual-units.ts";
import { dwarfWasm } from "./wasm-module.ts";

/** What is read at once: where units are large, little more than their heads, else many. */
const SMALL_WINDOW = 1 << 12;
const LARGE_WINDOW = 1 << 14;

/** The compilation units of a file, by offsets in `.debug_info`, with the ranges of their own entries. */
export interface ScannedUnits {
  /** All of them. */
  visit(visit: (unit: number, low: number, high: number) => void): void;
  /** Those with a range around an address. */
  visitAround(address: number, visit: (unit: number) => void): void;
}

/**
 * Reads the ranges of all compilation units from their own entries, in WebAssembly.
 *
 * @returns what is to be used before anything else in this room is; undefined where units or entries are unusual, or
 *   damaged
 */
export function scanUsualUnits(file: DwarfFile): ScannedUnits | undefined {
  const { info } = file;
  const size = info.bytes.length;
  if (file.isSplit || enterFile(file) === undefined) return undefined;
  const wasm = dwarfWasm();
  const window = wasm.beginScan(LARGE_WINDOW);
  if (wasm.isUnusual.value !== 0) return undefined;
  for (let offset = 0, room = LARGE_WINDOW; offset < size; ) {
    const present = info.copyTo(new Uint8Array(wasm.memory.buffer, window, room), offset);
    const next = wasm.scanUnits(window, present, offset, size);
    if (wasm.isUnusual.value !== 0) return undefined;
    if (next === offset) {
      if (room === LARGE_WINDOW) return undefined;
      room = LARGE_WINDOW;
      continue;
    }
    room = next - offset > LARGE_WINDOW ? SMALL_WINDOW : LARGE_WINDOW;
    offset = next;
  }
  const units = new Float64Array(wasm.memory.buffer, wasm.units.value, wasm.unitCount.value * 2);
  return {
    visit(visit) {
      const pairs = new Float64Array(wasm.memory.buffer, wasm.pairs.value, wasm.pairCount.value * 2);
      for (let unit = 0, pair = 0; unit < units.length; unit += 2) {
        const end = units[unit + 1] * 2;
        for (; pair < end; pair += 2) visit(units[unit], pairs[pair], pairs[pair + 1]);
      }
    },
    visitAround(address, visit) {
      for (let unit = wasm.unitAround(address, 0); unit >= 0; unit = wasm.unitAround(address, unit + 1))
        visit(units[unit * 2]);
    },
  };
}
