import type {
  AttributionKind,
  StackFrame as RecordedFrame,
  WorkingSetProfile,
} from "../../model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import type { GroupBy } from "../groups.ts";
import { rankWorkingSet } from "../working-set/rank.ts";
import { StackCollector, type StackFrame, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

const count = (key: string, title: string, head: string): StackMetric => ({
  ...{ key, title, head },
  unit: "count",
});
const NEW = count("new", "lines touched for the first time", "NEW");
const RANKED = [
  count("first-touch", "lines touched first", "FIRST"),
  count("share", "lines per interval of own blocks", "SHARE"),
  count("misses", "cache misses", "MISSES"),
] as const;
type RankedKey = "first-touch" | "share" | "misses";

export const WORKING_SET_STACK_KEYS = [NEW, ...RANKED].map(({ key }) => key);

const WORDS: { readonly [Kind in Exclude<AttributionKind, "code">]: string } = {
  ...{ host: "the host", stack: "the stack", static: "static data" },
  ...{ heap: "the allocator's own, or free", mapping: "mapped files", unknown: "no call path" },
};

interface WorkingSetPlaces {
  /** Those that the run has. */
  readonly metrics: readonly StackMetric[];
  /** Values by the keys of metrics; those of the end of an interval have also its `lines`, of which the most counts. */
  readonly places: Iterable<{ path: StackFrame[]; values: Readonly<Record<string, number>> }>;
}

/**
 * What a working set is made of, as far as the run has it, by paths from the program's own code outwards: where new lines are touched
 * (the calls at the end of each interval), who touched lines first, who allocated what is worked on, and which instructions miss.
 */
export function workingSetPlaces(profile: WorkingSetProfile, group: GroupBy): WorkingSetPlaces {
  const rankings = RANKED.flatMap((metric) => {
    const key = metric.key as RankedKey;
    const by = key === "misses" && group === "path" ? "site" : group;
    const ranking = rankWorkingSet(profile, key, "largest", by);
    return ranking === undefined ? [] : [{ metric, ranking }];
  });
  return { metrics: [NEW, ...rankings.map(({ metric }) => metric)], places: all() };

  function* all(): Generator<{ path: StackFrame[]; values: Record<string, number> }> {
    for (const { module, levels, stackOf, stacks } of profile.instances) {
      const [level] = levels;
      for (const [interval, fresh] of (level?.fresh ?? []).entries()) {
        const path = fromOwn(stacks[stackOf[interval]!] ?? []).stack;
        const values = { new: fresh, lines: level!.counts.lines?.[interval] ?? 0 };
        yield { path: path.map((frame) => frameOf(profile, module, frame)), values };
      }
    }
    for (const { metric, ranking } of rankings)
      for (const { module, frame, callers = [], kind = "code", of, value, file, line } of ranking.places) {
        const innermost =
          frame === undefined ? [] : [{ ...frame, file: frame.file ?? file, line: frame.line ?? line }];
        const path = [...innermost, ...callers].map((one) => frameOf(profile, module, one));
        const kinds = kind === "code" ? "bulk instructions" : WORDS[kind];
        const word = of === undefined ? kinds : `${kinds}: ${of}`;
        yield {
          path: path.length === 0 ? [{ function: word, isWord: true }] : path,
          values: { [metric.key]: value },
        };
      }
  }
}

/** The call paths to what a working set is made of. */
export function workingSetStacks(profile: WorkingSetProfile): WeightedStacks {
  const { metrics, places } = workingSetPlaces(profile, "path");
  const collector = new StackCollector();
  for (const { path, values } of places)
    collector.addPath(
      path,
      metrics.map(({ key }) => values[key] ?? 0),
    );
  return collector.finish({ tool: "workingset", metrics, gaps: [] });
}

function frameOf({ modules }: WorkingSetProfile, module: number, frame: RecordedFrame): StackFrame {
  const { function: index, name = `func[${index}]`, file, line, startLine, inlined, offset, library } = frame;
  const of = modules.length < 2 || frame.name !== undefined ? undefined : modules[module]?.name;
  return { function: name, module: of, file, line, startLine, inlined, address: offset, library };
}
