import type {
  AttributionKind,
  StackFrame as RecordedFrame,
  WorkingSetProfile,
} from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import { rankWorkingSet } from "../working-set/rank.ts";
import { StackCollector, type StackFrame, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

const count = (key: string, title: string, head: string): StackMetric => ({
  key,
  title,
  head,
  unit: "count",
});
const NEW = count("new", "lines touched for the first time", "NEW");
const RANKED = [
  count("first-touch", "lines touched first", "FIRST"),
  count("share", "lines per interval of own blocks", "SHARE"),
  count("misses", "cache misses", "MISSES"),
] as const;

export const WORKING_SET_STACK_KEYS = [NEW, ...RANKED].map(({ key }) => key);

const WORDS: { readonly [Kind in Exclude<AttributionKind, "code">]: string } = {
  ...{ host: "the host", stack: "the stack", static: "static data", heap: "the allocator's own, or free" },
  unknown: "no call path",
};

/**
 * The call paths to what a working set is made of, as far as the run has it: where new lines are touched (the calls at the end of each
 * interval), who touched lines first, who allocated what is worked on, and which instructions miss.
 */
export function workingSetStacks(profile: WorkingSetProfile): WeightedStacks {
  const rankings = RANKED.flatMap((metric) => {
    const ranking = rankWorkingSet(
      profile,
      metric.key as "first-touch" | "share" | "misses",
      "largest",
      pathsOf(metric),
    );
    return ranking === undefined ? [] : [{ metric, ranking }];
  });
  const metrics = [NEW, ...rankings.map(({ metric }) => metric)];
  const valuesOf = (metric: StackMetric, value: number) => metrics.map((one) => (one === metric ? value : 0));
  const collector = new StackCollector();
  for (const { module, levels, stackOf, stacks } of profile.instances)
    levels[0]?.fresh.forEach((fresh, interval) => {
      const path = fromOwn(stacks[stackOf[interval]!] ?? []).stack;
      collector.addPath(
        path.map((frame) => frameOf(profile, module, frame)),
        valuesOf(NEW, fresh),
      );
    });
  for (const { metric, ranking } of rankings)
    for (const { module, frame, callers = [], kind = "code", value, file, line } of ranking.places) {
      const innermost =
        frame === undefined ? [] : [{ ...frame, file: frame.file ?? file, line: frame.line ?? line }];
      const path = [...innermost, ...callers].map((one) => frameOf(profile, module, one));
      const word = kind === "code" ? "bulk instructions" : WORDS[kind];
      collector.addPath(
        path.length === 0 ? [{ function: word, isWord: true }] : path,
        valuesOf(metric, value),
      );
    }
  return collector.finish({ tool: "workingset", metrics, gaps: [] });
}

function pathsOf({ key }: StackMetric): "path" | "site" {
  return key === "misses" ? "site" : "path";
}

function frameOf({ modules }: WorkingSetProfile, module: number, frame: RecordedFrame): StackFrame {
  const { function: index, name = `func[${index}]`, file, line, offset, library } = frame;
  const of = modules.length < 2 || frame.name !== undefined ? undefined : modules[module]?.name;
  return { function: name, module: of, file, line, address: offset, library };
}
