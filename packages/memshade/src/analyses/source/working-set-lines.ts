import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import { rankWorkingSet, type WorkingSetKey } from "../working-set/rank.ts";
import { type SourceColumn, SourceSums, type SourceTable } from "./source-table.ts";

/** Figures that a run may have beside its intervals, with the keys of `memshade top`. */
const RANKED: readonly (SourceColumn & { readonly by: WorkingSetKey })[] = [
  { by: "misses", key: "misses", head: "MISSES", unit: "count" },
  { by: "first-touch", key: "firstTouch", head: "FIRST", unit: "count" },
  { by: "share", key: "share", head: "SHARE", unit: "count" },
];

/**
 * The source lines of a working set: misses, lines of memory that were touched first there or that are in blocks allocated there, as
 * far as the run has them, and of the intervals that ended there the largest one and the lines that were new.
 */
export function workingSetLines(profile: WorkingSetProfile): SourceTable {
  const rankings = RANKED.flatMap(({ by, ...column }) => {
    const ranking = rankWorkingSet(profile, by, "largest");
    return ranking === undefined ? [] : [{ column, places: ranking.places }];
  });
  const sums = new SourceSums("workingset", [
    ...rankings.map(({ column }) => column),
    { key: "new", head: "NEW", unit: "count" },
    { key: "lines", head: "LINES", unit: "count" },
  ]);
  for (const { column, places } of rankings)
    for (const place of places) sums.add(place, { [column.key]: place.value });
  for (const { levels, stackOf, stacks } of profile.instances)
    levels[0]?.counts.lines?.forEach((lines, interval) => {
      const [frame = {}] = fromOwn(stacks[stackOf[interval]!] ?? []).stack;
      sums.add(frame, { new: levels[0]!.fresh[interval]! });
      sums.add(frame, { lines }, Math.max);
    });
  return sums.byPart();
}
