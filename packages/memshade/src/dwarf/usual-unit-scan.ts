import type { DwarfFile } from "./dwarf-file.ts";
import { enterFile } from "./usual-units.ts";
import { dwarfWasm } from "./wasm-module.ts";

/** What is read at once: where units are large, little more than their heads, else many. */
const SMALL_WINDOW = 1 << 12;
const LARGE_WINDOW = 1 << 18;

/**
 * Reads the ranges of all compilation units from their own entries, in WebAssembly.
 *
 * @param isWanted whether a unit's ranges are, by its offset in `.debug_info`
 * @returns false, and nothing has happened, where units or entries are unusual, or damaged
 */
export function scanUsualUnits(
  file: DwarfFile,
  isWanted: (unit: number) => boolean,
  visit: (unit: number, low: number, high: number) => void,
): boolean {
  const { info } = file;
  const size = info.bytes.length;
  if (file.isSplit || enterFile(file) === undefined) return false;
  const wasm = dwarfWasm();
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
  const units = new Float64Array(wasm.memory.buffer, wasm.units.value, wasm.unitCount.value * 2);
  const pairs = new Float64Array(wasm.memory.buffer, wasm.pairs.value, wasm.pairCount.value * 2);
  for (let unit = 0, pair = 0; unit < units.length; unit += 2) {
    const end = units[unit + 1] * 2;
    if (isWanted(units[unit])) for (; pair < end; pair += 2) visit(units[unit], pairs[pair], pairs[pair + 1]);
    pair = end;
  }
  return true;
}
