import { basename } from "node:path";
import type {
  Attribution,
  StackFrame,
  WorkingSetLevel,
} from "../../../../../profile/model/working-set/working-set.ts";
import { AttributionDescriber } from "../../../../tools/working-set/attribution/read/describe-attribution.ts";
import type { AttributedPlace } from "../../../../tools/working-set/attribution/read/read-attribution.ts";
import type { NativeWorkingSetSession } from "./native-session.ts";

/**
 * Describes the owners of lines in intervals, if they were recorded.
 *
 * @param program name of the program
 * @param pathOf returns the call path of a context as sites, innermost first; undefined if the path was not recorded
 */
export function describeOwners(
  { records, lines, unowned }: NativeWorkingSetSession,
  levels: readonly WorkingSetLevel[],
  program: string,
  pathOf: (context: number) => number[] | undefined,
): Attribution | undefined {
  if (records === undefined || lines.owners === undefined) return undefined;
  const places = new Map<number, AttributedPlace>();
  for (const [key, place] of unowned.places) {
    const ofName = place.of === undefined ? {} : { of: basename(place.of) || program };
    places.set(key, { ...place, ...ofName });
  }
  for (const { key } of records.shares.flat()) {
    if (key <= 0 || places.has(key)) continue;
    const path = pathOf(key - 1);
    places.set(key, path === undefined ? { kind: "unknown", path: [] } : { kind: "code", path });
  }
  const scales = levels.map(({ factor, start }) => ({ factor, intervals: start.length }));
  const tables = { snapshots: records.shares, places };
  return new AttributionDescriber(tables, records.records, 0, scales).owners(framesOf);
}

/** Frames hold site numbers until they are symbolized. */
function framesOf(path: readonly number[]): StackFrame[] {
  return path.map((site) => ({ function: site, offset: site }));
}
