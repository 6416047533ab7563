import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { Cursor, readInitialLength } from "../cursor.ts";
import { isTypeUnit, type Unit } from "../die.ts";
import type { DwarfFile } from "../dwarf-file.ts";
import { visitRanges } from "./ranges.ts";

/** Number of lookups that scan the ranges of all units; from the next one on, the ranges are sorted. */
const FEW_LOOKUPS = 2;

/**
 * Maps an address to its compilation unit. The ranges come from `.debug_aranges`, and for units absent there from
 * the unit's own entry. If units overlap, the first one in the section wins, but a range once begun continues as
 * long as its unit covers it.
 */
export class UnitIndex {
  readonly #file: DwarfFile;
  #lookups = 0;
  #pieces: SortedIntervals | undefined;
  readonly #described = new Set<number>();

  constructor(file: DwarfFile) {
    this.#file = file;
  }

  find(address: number): Unit | undefined {
    if (this.#pieces === undefined) {
      const only = this.#lookups++ < FEW_LOOKUPS ? this.#onlyUnitAt(address) : SEVERAL;
      if (only !== SEVERAL) return only === NONE ? undefined : this.#file.compilationUnitAt(only);
      this.#pieces = piecesOf(this.#collect());
    }
    const offset = this.#pieces.find(address);
    return offset === NONE ? undefined : this.#file.compilationUnitAt(offset);
  }

  /** Returns the offset of the only unit that covers an address, else `NONE` or `SEVERAL`. */
  #onlyUnitAt(address: number): number {
    let only = NONE;
    const takeAround: VisitRange = (unit, low, high) => {
      if (address < low || address >= high || unit === only) return;
      only = only === NONE ? unit : SEVERAL;
    };
    this.#visitDescribed(takeAround);
    this.#visitOthers(takeAround);
    return only;
  }

  #collect(): UnitRanges {
    const ranges: UnitRanges = { lows: [], highs: [], units: [] };
    const add: VisitRange = (unit, low, high) => {
      if (!(low < high)) return;
      ranges.lows.push(low);
      ranges.highs.push(high);
      ranges.units.push(unit);
    };
    this.#visitDescribed(add);
    this.#visitOthers(add);
    return ranges;
  }

  #visitDescribed(visit: VisitRange): void {
    this.#described.clear();
    this.#guarded(() => readAddressRanges(this.#file.section(".debug_aranges"), this.#described, visit));
  }

  #visitOthers(visit: VisitRange): void {
    for (const unit of this.#file.units) {
      const { offset } = unit.header;
      if (this.#described.has(offset) || isTypeUnit(unit)) continue;
      this.#guarded(() =>
        unit.fromOwnEntry((die) => {
          // Ranges are reported at the end only, since an entry that is longer than expected is read a second time.
          const found: number[] = [];
          visitRanges(unit, die, (low, high) => found.push(low, high));
          for (let at = 0; at < found.length; at += 2) visit(offset, found[at], found[at + 1]);
        }),
      );
    }
  }

  #guarded(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      // Problems are recorded at the first lookup only, since later ones find the same again.
      if (this.#lookups <= 1) this.#file.problems.push(error);
    }
  }
}

type VisitRange = (unit: number, low: number, high: number) => void;

const NONE = -1;
const SEVERAL = -2;

interface UnitRanges {
  readonly lows: number[];
  readonly highs: number[];
  readonly units: number[];
}

function piecesOf(ranges: UnitRanges): SortedIntervals {
  const { lows, highs, units } = ranges;
  const order = sortedRows(lows);
  const starts = new Float64Array(order.length);
  const ends = new Float64Array(order.length);
  const owners = new Float64Array(order.length);
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (at > 0 && lows[row] < ends[at - 1]) return mergeOverlapping(ranges);
    starts[at] = lows[row];
    ends[at] = highs[row];
    owners[at] = units[row];
  }
  return new SortedIntervals(starts, ends, owners);
}

const ROW_SPACE = 2 ** 20;

/** Returns row numbers sorted by address; rows of one address keep their order. */
function sortedRows(addresses: ArrayLike<number>): ArrayLike<number> {
  const count = addresses.length;
  let isSmall = count <= ROW_SPACE;
  for (let row = 0; isSmall && row < count; row++) isSmall = addresses[row] < 2 ** 32;
  if (!isSmall) {
    const rows = Uint32Array.from({ length: count }, (_, row) => row);
    return rows.sort((a, b) => addresses[a] - addresses[b] || a - b);
  }
  // Sorting numbers is much faster than sorting rows with a comparison function.
  const keys = new Float64Array(count);
  for (let row = 0; row < count; row++) keys[row] = addresses[row] * ROW_SPACE + row;
  keys.sort();
  const rows = new Uint32Array(count);
  for (let at = 0; at < count; at++) rows[at] = keys[at] % ROW_SPACE;
  return rows;
}

function mergeOverlapping({ lows, highs, units }: UnitRanges): SortedIntervals {
  const addresses = new Float64Array(lows.length * 2);
  for (let row = 0; row < lows.length; row++) {
    addresses[row * 2] = lows[row];
    addresses[row * 2 + 1] = highs[row];
  }
  const endpoints = sortedRows(addresses);
  const open = new OpenUnits();
  const starts: number[] = [];
  const ends: number[] = [];
  const owners: number[] = [];
  let previous = Number.POSITIVE_INFINITY;
  for (let at = 0; at < endpoints.length; at++) {
    const endpoint = endpoints[at];
    const address = addresses[endpoint];
    const first = previous < address ? open.first() : undefined;
    if (first !== undefined) {
      const last = ends.length - 1;
      if (last >= 0 && ends[last] === previous && open.has(owners[last])) ends[last] = address;
      else {
        starts.push(previous);
        ends.push(address);
        owners.push(first);
      }
    }
    const unit = units[endpoint >> 1];
    if (endpoint & 1) open.remove(unit);
    else open.add(unit);
    previous = address;
  }
  return new SortedIntervals(starts, ends, owners);
}

/**
 * Counted set of the units whose ranges cover the current address, ordered by offset. Closed units leave the heap
 * lazily.
 */
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
    const remaining = (this.#counts.get(unit) ?? 0) - 1;
    // A unit in the heap keeps its count, so that it is not pushed twice.
    this.#counts.set(unit, Math.max(0, remaining));
  }

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

class SortedIntervals {
  readonly #starts: ArrayLike<number>;
  readonly #ends: ArrayLike<number>;
  readonly #values: ArrayLike<number>;

  constructor(starts: ArrayLike<number>, ends: ArrayLike<number>, values: ArrayLike<number>) {
    this.#starts = starts;
    this.#ends = ends;
    this.#values = values;
  }

  find(address: number): number {
    const starts = this.#starts;
    const last = partitionPoint(0, starts.length, (index) => starts[index] <= address) - 1;
    return last >= 0 && address < this.#ends[last] ? this.#values[last] : -1;
  }
}
