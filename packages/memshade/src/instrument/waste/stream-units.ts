import { ACCESS_KIND, AccessKind } from "../../wasm/index.ts";
import type { LinearForm } from "../insertions.ts";
import type { LoopAccess } from "./loop-streams.ts";

/** As far apart are loads that the runtime looks at as one range; see `runtime/shadow/assembly/waste/streams.ts`. */
const DENSE = 32;

/** Streams that go from one base by one stride, side by side. */
interface Unit {
  number: number;
  base: number;
  stride: LinearForm;
  stores: boolean;
  low: number;
  high: number;
}

/**
 * Which streams of a loop move as one, within one place of each trip, as a number per stream: those of units that came before it, or
 * the next. All stores are in one unit. See `runtime/shadow/assembly/waste/units.ts`.
 */
export function unitsOf(
  accesses: readonly LoopAccess[],
  streams: readonly { stride: LinearForm }[],
): number[] {
  const units: Unit[] = [];
  const unitOf: Unit[] = [];
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
      unit = { number: -1, base, stride, stores: stores(accesses[i]), low: offset, high: end };
      units.push(unit);
    }
    unit.low = Math.min(unit.low, offset);
    unit.high = Math.max(unit.high, end);
    unitOf[i] = unit;
  }
  let count = 0;
  return order.map((i) => {
    const unit = unitOf[i];
    if (unit.number < 0) unit.number = count++;
    return unit.number;
  });
}

function stores({ place }: LoopAccess): boolean {
  return ACCESS_KIND[place.op] === AccessKind.Store;
}

function isSame(one: LinearForm, other: LinearForm): boolean {
  return one.terms.length === 0 && other.terms.length === 0 && one.constant === other.constant;
}

/** Whether an access is in the same place of each trip; one that stands must be at the same bytes. */
function hasRoom(unit: Unit, low: number, high: number): boolean {
  const stride = Math.abs(unit.stride.constant);
  if (stride === 0) return unit.low === low && unit.high === high;
  if (!unit.stores && stride > DENSE) return false;
  return Math.max(unit.high, high) - Math.min(unit.low, low) <= stride;
}
