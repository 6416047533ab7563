import type { SampleFrame, SampleModule } from "../model/sample-profile.ts";
import type {
  AttributionKind,
  InstanceWorkingSet,
  StackFrame,
  WorkingSetProfile,
} from "../model/working-set/working-set.ts";
import { type ExportedSamples, exportedSamples, type Weight, wholeAmounts } from "./exported.ts";
import { workingSetCounters } from "./working-set-counters.ts";

const LINES = { type: "lines", counted: "lines" } as const;

/** What stacks of a working set have, in the order of files: what readers look at first comes last. */
export const WORKING_SET_WEIGHTS = {
  cold: {
    key: "cold",
    type: "cold_misses",
    unit: "count",
    says: "first references to a line, by the instruction (an estimate where lines were sampled)",
  },
  misses: {
    key: "misses",
    type: "misses",
    unit: "count",
    says: "misses of a fully associative cache, by the instruction (an estimate where lines were sampled)",
  },
  share: {
    key: "share",
    type: "owned_space",
    unit: "bytes",
    says: "bytes of the lines of the whole run, by who allocated what lies in them",
    with: { verb: "Lines owned", ...LINES },
  },
  firstTouch: {
    key: "first-touch",
    type: "first_touch_space",
    unit: "bytes",
    says: "bytes of the lines of the whole run, by who touched them first",
    with: { verb: "Lines touched first", ...LINES },
  },
  fresh: {
    key: "new",
    type: "new_space",
    unit: "bytes",
    says: "bytes of the lines of the whole run, by the call that was going on at the end of the interval that touched them first",
    with: { verb: "Lines new", ...LINES },
  },
} as const satisfies Record<string, Weight>;
type WeightName = keyof typeof WORKING_SET_WEIGHTS;

interface Row {
  of: WeightName;
  amount: number;
  stack: SampleFrame[];
}

/** Whom the lines of a working set are charged to. The weights have stacks of different meanings, each its own. */
export function workingSetSamples(profile: WorkingSetProfile): ExportedSamples {
  const { modules, instances, program, lineBytes, unit } = profile;
  const rows = instances.flatMap((instance) => rowsOf(instance, lineBytes));
  const names = Object.keys(WORKING_SET_WEIGHTS) as WeightName[];
  return exportedSamples({
    name: `working set of ${program}`,
    modules: modulesOf(profile),
    stacks: rows.map(({ stack }) => stack),
    columns: names
      .filter((name) => name === "fresh" || rows.some(({ of }) => of === name))
      .map((name) => ({
        weight: WORKING_SET_WEIGHTS[name],
        values: wholeAmounts(rows.map(({ of, amount }) => (of === name ? amount : 0))),
      })),
    shown: ["first-touch", "share", "new"],
    notes: [
      `A line has ${lineBytes} bytes. Time is in ${unit === "accesses" ? "accesses" : `ns (${unit})`}.`,
      ...(modules.length > 1 || instances.length > 1 ? ["Instances of modules are added up."] : []),
      ...profile.notTracked,
    ],
    counters: workingSetCounters(profile),
  });
}

function rowsOf(instance: InstanceWorkingSet, lineBytes: number): Row[] {
  const { module, levels, stackOf, stacks, firstTouch, owners, locality } = instance;
  const framesOf = (stack: readonly StackFrame[]) => stack.map((frame) => frameOf(frame, module));
  const rows: Row[] = (levels[0]?.fresh ?? []).map((lines, interval) => ({
    ...{ of: "fresh", amount: lines * lineBytes, stack: framesOf(stacks[stackOf[interval]!] ?? []) },
  }));
  for (const [of, attribution] of [
    ["firstTouch", firstTouch],
    ["share", owners],
  ] as const) {
    for (const { kind, of: object, stack, total } of attribution?.contexts ?? []) {
      const path = kind === "code" ? framesOf(stack) : [noCode(kind, object)];
      rows.push({ of, amount: total * lineBytes, stack: path });
    }
    const others = attribution?.otherContexts;
    if (others !== undefined && others.total > 0)
      rows.push({ of, amount: others.total * lineBytes, stack: [OTHERS] });
  }
  if (locality === undefined) return rows;
  const { sites, otherSites, rate, cold } = locality;
  for (const { frame, file, line, ...counts } of sites) {
    const stack = [frame === undefined ? BULK : { ...frameOf(frame, module), file, line }];
    rows.push({ of: "misses", amount: counts.misses / rate, stack });
    rows.push({ of: "cold", amount: counts.cold / rate, stack });
  }
  const listed = sites.reduce((sum, site) => sum + site.cold, 0);
  rows.push({ of: "misses", amount: otherSites.misses / rate, stack: [OTHERS] });
  rows.push({ of: "cold", amount: Math.max(0, cold - listed) / rate, stack: [OTHERS] });
  return rows;
}

const OTHERS: SampleFrame = { function: "[others, not listed]" };
const BULK: SampleFrame = { function: "[bulk instructions]" };

function noCode(kind: Exclude<AttributionKind, "code">, of?: string): SampleFrame {
  return { function: of === undefined ? `[${kind}]` : `[${kind}: ${of}]` };
}

function frameOf(
  { function: index, offset, name, file, line, library, isInlined }: StackFrame,
  module: number,
): SampleFrame {
  const frame = { function: name ?? `func[${index}]`, file, line, library, address: offset, module };
  return isInlined ? { ...frame, inlined: true } : frame;
}

function modulesOf({ modules, instances }: WorkingSetProfile): SampleModule[] {
  const ends = modules.map(() => 0);
  for (const { module, stacks, firstTouch, owners, locality } of instances) {
    const attributed = [...(firstTouch?.contexts ?? []), ...(owners?.contexts ?? [])];
    const frames = [...stacks, ...attributed.map(({ stack }) => stack)].flat();
    for (const { frame } of locality?.sites ?? []) if (frame !== undefined) frames.push(frame);
    for (const { offset = 0 } of frames) ends[module] = Math.max(ends[module] ?? 0, offset + 1);
  }
  return modules.map(({ name, buildId }, index) => ({ name, buildId, start: 0, end: ends[index]! }));
}
