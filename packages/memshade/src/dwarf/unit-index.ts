import { Cursor } from "./cursor.ts";
import type { Unit } from "./unit.ts";

/** Which unit has the code at an address. */
export class UnitIndex {
  /** Ranges in ascending order, without overlaps. */
  readonly #lows: Float64Array;
  readonly #highs: Float64Array;
  readonly #units: Uint32Array;

  constructor(lows: number[], highs: number[], units: number[]) {
    this.#lows = Float64Array.from(lows);
    this.#highs = Float64Array.from(highs);
    this.#units = Uint32Array.from(units);
  }

  /** Index of the unit, −1 if none has code there. */
  unitAt(address: number): number {
    let low = 0;
    let high = this.#lows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#lows[middle] > address) high = middle;
      else low = middle + 1;
    }
    const at = low - 1;
    return at >= 0 && address < this.#highs[at] ? this.#units[at] : -1;
  }
}

interface Endpoints {
  addresses: number[];
  units: number[];
  isStart: boolean[];
}

/**
 * Ranges from `.debug_aranges`, and from the units that it does not mention. Where several units claim an address, the
 * one that had the address before keeps it, else the first one gets it.
 */
export function indexUnits(units: readonly Unit[], aranges: Uint8Array | undefined): UnitIndex {
  const endpoints: Endpoints = { addresses: [], units: [], isStart: [] };
  const add = (low: number, high: number, unit: number): void => {
    if (low >= high) return;
    endpoints.addresses.push(low, high);
    endpoints.units.push(unit, unit);
    endpoints.isStart.push(true, false);
  };
  const mentioned = aranges === undefined ? new Set<number>() : readAranges(units, aranges, add);
  units.forEach((unit, index) => {
    if (mentioned.has(index)) return;
    for (const { low, high } of unit.ranges) add(low, high, index);
  });
  return sweep(endpoints);
}

/** Calls `add` for all ranges of the section; returns the units it mentions. */
function readAranges(
  units: readonly Unit[],
  section: Uint8Array,
  add: (low: number, high: number, unit: number) => void,
): Set<number> {
  const byOffset = new Map(units.map(({ header }, index) => [header.offset, index]));
  const mentioned = new Set<number>();
  const cursor = new Cursor(section, ".debug_aranges");
  try {
    while (cursor.pos < section.length) {
      const start = cursor.pos;
      const { length, offsetSize } = cursor.initialLength();
      const end = cursor.pos + length;
      cursor.skip(2);
      const unit = byOffset.get(cursor.unsigned(offsetSize));
      const addressSize = cursor.u8();
      const segmentSize = cursor.u8();
      if (addressSize !== 4 && addressSize !== 8) cursor.fail(`addresses of ${addressSize} bytes`);
      if (segmentSize !== 0) cursor.fail("segment selectors");
      if (unit !== undefined) mentioned.add(unit);
      // Tuples are aligned to their size from the start of the set.
      const tuple = 2 * addressSize;
      cursor.pos = start + Math.ceil((cursor.pos - start) / tuple) * tuple;
      while (cursor.pos + tuple <= end) {
        const low = cursor.unsigned(addressSize);
        const size = cursor.unsigned(addressSize);
        if (low === 0 && size === 0) break;
        if (unit !== undefined) add(low, low + size, unit);
      }
      cursor.pos = Math.min(end, section.length);
    }
  } catch {
    // The sets before the damage are of use.
  }
  return mentioned;
}

function sweep({ addresses, units, isStart }: Endpoints): UnitIndex {
  const order = Uint32Array.from(addresses.keys()).sort((one, other) => addresses[one] - addresses[other]);
  const lows: number[] = [];
  const highs: number[] = [];
  const owners: number[] = [];
  const open = new OpenUnits();
  let previous = 0;
  for (const endpoint of order) {
    const address = addresses[endpoint];
    if (previous < address && open.first() >= 0) {
      const last = owners.length - 1;
      if (last >= 0 && highs[last] === previous && open.has(owners[last])) highs[last] = address;
      else {
        lows.push(previous);
        highs.push(address);
        owners.push(open.first());
      }
    }
    if (isStart[endpoint]) open.add(units[endpoint]);
    else open.remove(units[endpoint]);
    previous = address;
  }
  return new UnitIndex(lows, highs, owners);
}

/** Units whose ranges are open during the sweep, each as often as it has; a heap finds the first. */
class OpenUnits {
  readonly #counts = new Map<number, number>();
  readonly #heap: number[] = [];

  has(unit: number): boolean {
    return (this.#counts.get(unit) ?? 0) > 0;
  }

  add(unit: number): void {
    const count = this.#counts.get(unit) ?? 0;
    this.#counts.set(unit, count + 1);
    if (count === 0) this.#push(unit);
  }

  remove(unit: number): void {
    this.#counts.set(unit, (this.#counts.get(unit) ?? 0) - 1);
  }

  /** The lowest open unit, −1 if none is. Closed ones leave the heap when they come to its top. */
  first(): number {
    while (this.#heap.length > 0 && !this.has(this.#heap[0])) this.#pop();
    return this.#heap.length > 0 ? this.#heap[0] : -1;
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
    const last = heap.pop() as number;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1] < heap[child]) child++;
      if (heap[child] >= last) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
  }
}
