import type { PiecewiseBytes } from "../bytes/piecewise.ts";
import type { DwarfFile } from "./dwarf-file.ts";
import { enterFile } from "./usual-units.ts";
import type { DwarfWasm } from "./wasm-module.ts";

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
 * @returns what is good until another file is read; undefined where units or entries are unusual, or damaged
 */
export function scanUsualUnits(file: DwarfFile): ScannedUnits | undefined {
  const entered = enterFile(file);
  const { wasm } = entered;
  if (entered.units === undefined)
    entered.units = file.isSplit || wasm === undefined || !scan(wasm, file.info) ? null : unitsIn(wasm);
  return entered.units ?? undefined;
}

function scan(wasm: DwarfWasm, info: PiecewiseBytes): boolean {
  const size = info.bytes.length;
  const window = wasm.beginScan(LARGE_WINDOW);
  if (wasm.isUnusual.value !== 0) return false;
  for (let offset = 0, room = LARGE_WINDOW; offset < size; ) {
    const present = info.copyTo(new Uint8Array(wasm.memory.buffer, window, room), offset);
    const next = wasm.scanUnits(window, present, offset, size);
    if (wasm.isUnusual.value !== 0) return false;
    if (next === offset) {
      if (room === LARGE_WINDOW) return false;
      room = LARGE_WINDOW;
      continue;
    }
    room = next - offset > LARGE_WINDOW ? SMALL_WINDOW : LARGE_WINDOW;
    offset = next;
  }
  return true;
}

function unitsIn(wasm: DwarfWasm): ScannedUnits {
  wasm.keepScanned();
  const numbersAt = (place: number, count: number) => new Float64Array(wasm.memory.buffer, place, count * 2);
  const allUnits = () => numbersAt(wasm.units.value, wasm.unitCount.value);
  return {
    visit(visit) {
      const units = allUnits();
      const pairs = numbersAt(wasm.unitPairs.value, wasm.unitPairCount.value);
      for (let unit = 0, pair = 0; unit < units.length; unit += 2) {
        const end = units[unit + 1] * 2;
        for (; pair < end; pair += 2) visit(units[unit], pairs[pair], pairs[pair + 1]);
      }
    },
    visitAround(address, visit) {
      const units = allUnits();
      for (let unit = wasm.unitAround(address, 0); unit >= 0; unit = wasm.unitAround(address, unit + 1))
        visit(units[unit * 2]);
    },
  };
}
