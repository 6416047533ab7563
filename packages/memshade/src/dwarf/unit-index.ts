import { FormatError } from "../bytes/errors.ts";
import { Cursor, readInitialLength } from "./cursor.ts";
import { type DwarfFile, isTypeUnit } from "./dwarf-file.ts";
import type { Unit } from "./unit.ts";

/**
 * Which compilation unit an address belongs to: from `.debug_aranges`, and for the units that it does not know from the
 * ranges of their entries. Where units overlap, the one that comes first in the section wins, but a range once begun
 * is continued as long as its unit covers it.
 */
export class UnitIndex {
  readonly #file: DwarfFile;
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #unitOffsets: Float64Array;

  constructor(file: DwarfFile) {
    this.#file = file;
    const ranges = collectRanges(file);
    const pieces = mergeRanges(ranges);
    this.#starts = Float64Array.from(pieces, (piece) => piece.low);
    this.#ends = Float64Array.from(pieces, (piece) => piece.high);
    this.#unitOffsets = Float64Array.from(pieces, (piece) => piece.unit);
  }

  find(address: number): Unit | undefined {
    const starts = this.#starts;
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || address >= this.#ends[low - 1]) return undefined;
    return this.#file.compilationUnitAt(this.#unitOffsets[low - 1]);
  }
}

interface UnitRange {
  low: number;
  high: number;
  /** Offset of the unit in `.debug_info`. */
  unit: number;
}

function collectRanges(file: DwarfFile): UnitRange[] {
  const ranges: UnitRange[] = [];
  const add = (unit: number, low: number, high: number) => {
    if (low < high) ranges.push({ unit, low, high });
  };
  const described = new Set<number>();
  const guarded = (read: () => void) => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      file.problems.push(error);
    }
  };
  guarded(() => readAddressRanges(file.section(".debug_aranges"), described, add));
  for (const unit of file.units) {
    const { offset } = unit.header;
    if (described.has(offset) || isTypeUnit(unit)) continue;
    guarded(() => {
      for (const { low, high } of unit.rangesOf(unit.die)) add(offset, low, high);
    });
  }
  return ranges;
}

/** `.debug_aranges` (DWARF 5, section 6.1.2). */
function readAddressRanges(
  section: Uint8Array | undefined,
  described: Set<number>,
  add: (unit: number, low: number, high: number) => void,
): void {
  if (section === undefined) return;
  for (let offset = 0; offset < section.length; ) {
    const cursor = new Cursor(section, offset, ".debug_aranges");
    const { length, dwarf64 } = readInitialLength(cursor);
    const end = cursor.position + length;
    cursor.skip(2);
    const unit = cursor.unsigned(dwarf64 ? 8 : 4);
    const addressSize = cursor.u8();
    cursor.skip(1);
    const entrySize = addressSize * 2;
    const header = cursor.position - offset;
    cursor.skip((entrySize - (header % entrySize)) % entrySize);
    while (cursor.position + entrySize <= end) {
      const low = cursor.unsigned(addressSize);
      const size = cursor.unsigned(addressSize);
      if (low === 0 && size === 0) break;
      add(unit, low, low + size);
    }
    described.add(unit);
    offset = end;
  }
}

function mergeRanges(ranges: readonly UnitRange[]): UnitRange[] {
  const count = ranges.length * 2;
  const addressOf = (endpoint: number) =>
    endpoint & 1 ? ranges[endpoint >> 1].high : ranges[endpoint >> 1].low;
  const endpoints = Uint32Array.from({ length: count }, (_, index) => index);
  endpoints.sort((a, b) => addressOf(a) - addressOf(b) || a - b);
  const open = new OpenUnits();
  const pieces: UnitRange[] = [];
  let previous = Number.POSITIVE_INFINITY;
  for (const endpoint of endpoints) {
    const address = addressOf(endpoint);
    const first = previous < address ? open.first() : undefined;
    if (first !== undefined) {
      const last = pieces.at(-1);
      if (last !== undefined && last.high === previous && open.has(last.unit)) last.high = address;
      else pieces.push({ low: previous, high: address, unit: first });
    }
    const { unit } = ranges[endpoint >> 1];
    if (endpoint & 1) open.remove(unit);
    else open.add(unit);
    previous = address;
  }
  return pieces;
}

/** The units whose ranges cover the present place, counted, and in order: a heap from which the closed ones go late. */
class OpenUnits {
  readonly #counts = new Map<number, number>();
  readonly #heap: number[] = [];

  has(unit: number): boolean {
    return (this.#counts.get(unit) ?? 0) > 0;
  }

  add(unit: number): void {
    const count = this.#counts.get(unit);
    this.#counts.set(unit, (count ?? 0) + 1);
    if (count === undefined) this.#push(unit);
  }

  remove(unit: number): void {
    const left = (this.#counts.get(unit) ?? 0) - 1;
    // What is still in the heap keeps its entry, so that it is not pushed twice.
    this.#counts.set(unit, Math.max(0, left));
  }

  /** The covering unit with the smallest offset. */
  first(): number | undefined {
    while (this.#heap.length > 0 && !this.has(this.#heap[0])) {
      this.#counts.delete(this.#heap[0]);
      this.#pop();
    }
    return this.#heap[0];
  }

  #push(unit: number): void {
    const heap = this.#heap;
    let at = heap.push(unit) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent] <= unit) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = unit;
  }

  #pop(): void {
    const heap = this.#heap;
    const moved = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1] < heap[child]) child++;
      if (heap[child] >= moved) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
  }
}
