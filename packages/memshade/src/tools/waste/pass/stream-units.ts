import type { LinearForm } from "../../../rewrite/write/insertions.ts";
import { ACCESS_KIND, AccessKind } from "../../../wasm/index.ts";
import type { LoopAccess } from "./loop-streams.ts";

/** As far apart are loads that the runtime looks at as one range; see `tools/waste/assembly/streams.ts`. */
const DENSE = 32;

/** Streams that go from one base by one stride, side by side: a unit, see `tools/waste/assembly/units.ts`. */
export interface StreamUnit {
  /** Units are numbered as their first streams come. */
  number: number;
  base: number;
  stride: LinearForm;
  stores: boolean;
  /** The lowest of its streams, and constants added to the base where it begins, and behind its highest one. */
  lowest: number;
  low: number;
  high: number;
}

/** The unit of each stream of a loop: those in one move as one, within one place of each trip. All stores are in one. */
export function unitsOf(
  accesses: readonly LoopAccess[],
  streams: readonly { stride: LinearForm }[],
): StreamUnit[] {
  const units: StreamUnit[] = [];
  const unitOf: StreamUnit[] = [];
  const order = accesses.map((_, i) => i);
  // The stores' unit is there before any load could take its room.
  for (const i of order.toSorted((a, b) => Number(stores(accesses[b])) - Number(stores(accesses[a])))) {
    const { base, offset, place } = accesses[i];
    const end = offset + place.size;
    const { stride } = streams[i];
    let unit = units.find(
      (one) => one.base === base && isSame(one.stride, stride) && hasRoom(one, offset, end),
    );
    if (unit === undefined) {
      unit = { number: -1, base, stride, stores: stores(accesses[i]), lowest: i, low: offset, high: end };
      units.push(unit);
    }
    if (offset < unit.low) {
      unit.low = offset;
      unit.lowest = i;
    }
    unit.high = Math.max(unit.high, end);
    unitOf[i] = unit;
  }
  let count = 0;
  for (const unit of unitOf) if (unit.number < 0) unit.number = count++;
  return unitOf;
}

function stores({ place }: LoopAccess): boolean {
  return ACCESS_KIND[place.op] === AccessKind.Store;
}

function isSame(one: LinearForm, other: LinearForm): boolean {
  return one.terms.length === 0 && other.terms.length === 0 && one.constant === other.constant;
}

/** Whether an access is in the same place of each trip; one that stands must be at the same bytes. */
function hasRoom(unit: StreamUnit, low: number, high: number): boolean {
  const stride = Math.abs(unit.stride.constant);
  if (stride === 0) return unit.low === low && unit.high === high;
  if (!unit.stores && stride > DENSE) return false;
  return Math.max(unit.high, high) - Math.min(unit.low, low) <= stride;
}
