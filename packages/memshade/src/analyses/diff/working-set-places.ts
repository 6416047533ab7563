import type { StackFrame, WorkingSetProfile } from "../../model/working-set/working-set.ts";
import type { PlaceFrame } from "../findings/finding.ts";
import { fromOwn } from "../frames/own-place.ts";
import type { GroupBy } from "../groups.ts";
import { rankWorkingSet } from "../working-set/rank.ts";
import { type PlaceMetric, PlaceSums, type PlaceTable } from "./place-diff.ts";

const LINES: PlaceMetric = {
  ...{ key: "lines", title: "lines of the largest interval", head: "LINES", unit: "count" },
  combine: "most",
};
const sum = (key: string, title: string, head: string): PlaceMetric => ({
  ...{ key, title, head, unit: "count" },
  combine: "sum",
});
const NEW = sum("new", "lines touched for the first time", "NEW");
const RANKED = [
  sum("first-touch", "lines touched first", "FIRST"),
  sum("share", "lines per interval of own blocks", "SHARE"),
  sum("misses", "cache misses", "MISSES"),
] as const;

export const WORKING_SET_DIFF_KEYS = [LINES, NEW, ...RANKED].map(({ key }) => key);
type RankedKey = "first-touch" | "share" | "misses";

/** The places of the working sets of two runs. */
export function workingSetTables(
  older: WorkingSetProfile,
  newer: WorkingSetProfile,
  group: GroupBy,
): { old: PlaceTable; new: PlaceTable } {
  const alike = areAlike(older, newer);
  return { old: workingSetPlaces(older, group, alike), new: workingSetPlaces(newer, group, alike) };
}

function workingSetPlaces(profile: WorkingSetProfile, group: GroupBy, alike: Alike): PlaceTable {
  const rankings = RANKED.flatMap((metric) => {
    const ranking = rankWorkingSet(profile, metric.key as RankedKey, "largest", group);
    const isComparable = metric.key === "misses" ? alike.caches : metric.key !== "share" || alike.intervals;
    return ranking === undefined || !isComparable ? [] : [{ metric, ranking }];
  });
  const metrics = [...(alike.intervals ? [LINES] : []), NEW, ...rankings.map(({ metric }) => metric)];
  const sums = new PlaceSums("workingset", metrics, group);
  for (const { levels, stackOf, stacks } of profile.instances)
    levels[0]?.counts.lines?.forEach((lines, interval) => {
      const path = fromOwn(stacks[stackOf[interval]!] ?? []).stack.map(frameOf);
      sums.add(path, { lines, new: levels[0]!.fresh[interval]! });
    });
  for (const { metric, ranking } of rankings)
    for (const { frame, callers = [], value } of ranking.places)
      sums.add([...(frame === undefined ? [] : [frame]), ...callers].map(frameOf), { [metric.key]: value });
  return sums.table();
}

/** Whether figures of two runs that depend on how they were recorded mean the same. */
interface Alike {
  readonly intervals: boolean;
  readonly caches: boolean;
}

function areAlike(older: WorkingSetProfile, newer: WorkingSetProfile): Alike {
  const lengths = ({ unit, instances }: WorkingSetProfile) =>
    `${unit} ${instances.map(({ period }) => period).sort()}`;
  const caches = ({ options: { locality } }: WorkingSetProfile) => locality?.cacheBytes;
  return { intervals: lengths(older) === lengths(newer), caches: caches(older) === caches(newer) };
}

function frameOf({ function: index, name = `func[${index}]`, file, line, offset }: StackFrame): PlaceFrame {
  return { function: name, file, line, address: offset };
}
