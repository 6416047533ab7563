import { entryOf } from "../../ground/bytes/entries.ts";
import { MODULE_SPAN } from "../../profile/model/waste.ts";
import type {
  Attribution,
  AttributionKind,
  InstanceWorkingSet,
  LocalitySite,
  StackFrame,
  WorkingSetProfile,
} from "../../profile/model/working-set/working-set.ts";
import { type MeasuredProfiles, measuresOf, once, type ToolMeasures } from "./measure.ts";
import { type Column, type MeasuredFrame, type MeasuredStacks, RowCollector } from "./measured-stacks.ts";

const WORKING_SET =
  "a run with --tool workingset (for WebAssembly programs, --tool heap,workingset records both)";
const WHO = "a run with --tool workingset --who";
const WASM_WHO = "a run of a WebAssembly program with --tool workingset --who";
const LOCALITY = "a run of a WebAssembly program with --tool workingset --locality";

/** Words for owners of lines that are not code. */
export const KIND_WORDS: Readonly<Record<Exclude<AttributionKind, "code">, string>> = {
  host: "the host",
  stack: "the stack",
  static: "static data",
  heap: "the allocator's own, or free",
  mapping: "mapped files",
  unknown: "no call path",
};

/** Level-0 intervals of an instance that ended in one call stack. Sizes are bytes. */
interface EndedIntervals {
  readonly stack: readonly StackFrame[];
  intervals: number;
  /** Bytes of their lines: all together, in the largest interval, and never touched before. */
  bytes: number;
  largest: number;
  fresh: number;
  touched: number;
}

interface InstanceRows {
  readonly instance: InstanceWorkingSet;
  readonly ended: readonly EndedIntervals[];
  readonly firstTouch: Attribution["contexts"];
  readonly owners: Attribution["contexts"];
  readonly sites: readonly LocalitySite[];
}
type Part = Exclude<keyof InstanceRows, "instance">;
const PARTS: readonly Part[] = ["ended", "firstTouch", "owners", "sites"];

const rowsOf = once((profile: WorkingSetProfile): readonly InstanceRows[] =>
  profile.instances.map((instance) => ({
    instance,
    ended: endedIntervals(instance, profile.lineBytes),
    firstTouch: instance.firstTouch?.contexts ?? [],
    owners: instance.owners?.contexts ?? [],
    sites: instance.locality?.sites ?? [],
  })),
);

function endedIntervals(
  { levels, stackOf, stacks, fill }: InstanceWorkingSet,
  lineBytes: number,
): EndedIntervals[] {
  const byStack = new Map<number, EndedIntervals>();
  const [finest] = levels;
  for (const [interval, fresh] of (finest?.fresh ?? []).entries()) {
    const stack = stackOf[interval] ?? -1;
    const sums = entryOf(byStack, stack, () => ({
      stack: stacks[stack] ?? [],
      intervals: 0,
      bytes: 0,
      largest: 0,
      fresh: 0,
      touched: 0,
    }));
    const bytes = (finest!.counts.lines?.[interval] ?? 0) * lineBytes;
    sums.intervals++;
    sums.bytes += bytes;
    sums.largest = Math.max(sums.largest, bytes);
    sums.fresh += fresh * lineBytes;
    sums.touched += fill?.levels[0]?.bytes[interval] ?? 0;
  }
  return [...byStack.values()];
}

/**
 * Returns the parts of a working set that the run has: ends of intervals, first touches, owners of lines, and
 * instructions with misses.
 */
const workingSetStacks = once((profile: WorkingSetProfile): MeasuredStacks => {
  const { modules, program } = profile;
  const collector = new RowCollector();
  for (const { instance, ended, firstTouch, owners, sites } of rowsOf(profile)) {
    const path = (stack: readonly StackFrame[]) =>
      stack.map((frame) => frameOf(profile, instance.module, frame));
    for (const { stack } of ended) collector.add(path(stack));
    for (const { kind, of, stack } of [...firstTouch, ...owners]) {
      const word = kind === "code" ? "bulk instructions" : KIND_WORDS[kind];
      const isCode = kind === "code" && stack.length > 0;
      collector.add(isCode ? path(stack) : [wordOf(of === undefined ? word : `${word}: ${of}`)]);
    }
    for (const { frame, file, line } of sites)
      collector.add(
        frame === undefined
          ? [wordOf("bulk instructions")]
          : path([{ ...frame, file: frame.file ?? file, line: frame.line ?? line }]),
      );
  }
  return {
    tool: "workingset",
    name: `working set of ${program}`,
    modules: modules.map(({ index, name, buildId }) => ({ index, name, buildId })),
    ...collector.finish(),
    gaps: [],
    notes: [
      `A line has ${profile.lineBytes} bytes. Time is in ${profile.unit === "accesses" ? "accesses" : `ns (${profile.unit})`}.`,
      ...(modules.length > 1 || profile.instances.length > 1 ? ["Instances of modules are added up."] : []),
    ],
  };
});

/** Returns the first row of an instance's part. @param instance index of the instance */
export function firstRowOf(profile: WorkingSetProfile, instance: number, part: Part): number {
  const rows = rowsOf(profile);
  const sizeOf = (instanceRows: InstanceRows, parts: readonly Part[]) =>
    parts.reduce((sum, rowPart) => sum + instanceRows[rowPart].length, 0);
  const before = rows.slice(0, instance).reduce((sum, instanceRows) => sum + sizeOf(instanceRows, PARTS), 0);
  return before + sizeOf(rows[instance]!, PARTS.slice(0, PARTS.indexOf(part)));
}

function wordOf(word: string): MeasuredFrame {
  return { function: word, isWord: true };
}

export function frameOf(
  { modules }: Pick<WorkingSetProfile, "modules">,
  module: number,
  frame: StackFrame,
  isOneOfSeveral = modules.length > 1,
): MeasuredFrame {
  const { function: index, name, file, line, startLine, inlined, offset, library, isInlined } = frame;
  const base = (modules[module]?.index ?? 0) * MODULE_SPAN;
  return {
    function: name ?? `func[${index}]`,
    isNameless: name === undefined || undefined,
    module: isOneOfSeveral && name === undefined ? modules[module]?.name : undefined,
    moduleIndex: module,
    file,
    line,
    startLine,
    inlined,
    address: offset === undefined ? undefined : base + offset,
    offset,
    library,
    isInlined,
  };
}

/**
 * Returns a column for the rows of one part, with lines converted to bytes; undefined if no instance has the part.
 * `restOf` gives the amount in no row.
 */
function ofPart<P extends Part>(
  part: P,
  amountOf: (row: InstanceRows[P][number], instance: InstanceWorkingSet, lineBytes: number) => number,
  {
    isIn,
    restOf = () => 0,
  }: {
    isIn: (instance: InstanceWorkingSet) => boolean;
    restOf?: (instance: InstanceWorkingSet, lineBytes: number) => number;
  },
): (profile: WorkingSetProfile) => Column | undefined {
  return (profile) => {
    const { instances, lineBytes } = profile;
    if (!instances.some(isIn)) return undefined;
    const instanceRows = rowsOf(profile);
    const amounts = instanceRows.flatMap((rows) =>
      PARTS.flatMap((anyPart): number[] =>
        anyPart === part
          ? (rows[part] as InstanceRows[P]).map((row: InstanceRows[P][number]) =>
              amountOf(row, rows.instance, lineBytes),
            )
          : new Array<number>(rows[anyPart].length).fill(0),
      ),
    );
    const rest = instances.reduce(
      (sum, instance) => sum + (isIn(instance) ? restOf(instance, lineBytes) : 0),
      0,
    );
    return { amounts, rest };
  };
}

const isMeasured = ({ levels }: InstanceWorkingSet) => levels[0]?.counts.lines !== undefined;
const hasFill = (instance: InstanceWorkingSet) => isMeasured(instance) && instance.fill !== undefined;
const hasFirstTouch = ({ firstTouch }: InstanceWorkingSet) => firstTouch !== undefined;
const hasOwners = ({ owners }: InstanceWorkingSet) => owners !== undefined;
const hasLocality = ({ locality }: InstanceWorkingSet) => locality !== undefined;

function otherLines(attribution: Attribution | undefined, lineBytes: number): number {
  return (attribution?.otherContexts?.total ?? 0) * lineBytes;
}

/** Returns the mean amount per interval of the contexts that are not listed. */
function otherMean(attribution: Attribution | undefined, lineBytes: number): number {
  const otherLinesByInterval = attribution?.levels?.find(({ factor }) => factor === 1)?.others ?? [];
  const sum = otherLinesByInterval.reduce((total, lines) => total + lines, 0);
  return otherLinesByInterval.length === 0 ? 0 : (sum / otherLinesByInterval.length) * lineBytes;
}

/** Returns first touches. If they were not recorded by place, the run's total of lines is still known. */
function firstTouches(profile: WorkingSetProfile): Column | undefined {
  const { instances, lineBytes } = profile;
  const isPlaced = instances.every(hasFirstTouch);
  const isCounted = instances.every(({ total }) => total?.lines !== undefined);
  const placed = ofPart("firstTouch", ({ total }, _, bytes) => total * bytes, {
    isIn: hasFirstTouch,
    restOf: ({ firstTouch }, bytes) => otherLines(firstTouch, bytes),
  })(profile);
  if (isPlaced || !isCounted) return placed;
  const lines = instances.reduce((sum, { total }) => sum + total.lines! * lineBytes, 0);
  const rows = rowsOf(profile).reduce(
    (sum, rows) => sum + PARTS.reduce((total, part) => total + rows[part].length, 0),
    0,
  );
  return { amounts: new Float64Array(rows), rest: lines, isUnplaced: true };
}

/** Returns a column of locality figures. They are weights of a sample and are divided by its rate. */
function ofLocality(
  amountOf: (site: LocalitySite) => number,
  restOf?: (record: NonNullable<InstanceWorkingSet["locality"]>) => number,
) {
  return ofPart("sites", (site, { locality }) => amountOf(site) / locality!.rate, {
    isIn: hasLocality,
    restOf: ({ locality }) => (restOf?.(locality!) ?? 0) / locality!.rate,
  });
}

function intervalsDiffer(older: MeasuredProfiles, newer: MeasuredProfiles): string | undefined {
  const lengths = ({ workingset }: MeasuredProfiles) =>
    `${workingset?.unit} ${workingset?.instances.map(({ period }) => period).sort()}`;
  return lengths(older) === lengths(newer)
    ? undefined
    : "the intervals of the two runs have different lengths (--interval and --max-intervals set them)";
}

function cachesDiffer(older: MeasuredProfiles, newer: MeasuredProfiles): string | undefined {
  const cache = ({ workingset }: MeasuredProfiles) => workingset?.options.locality?.cacheBytes;
  return cache(older) === cache(newer) ? undefined : "the two runs count misses of different caches";
}

function cacheInWords({ workingset }: MeasuredProfiles): string | undefined {
  const locality = workingset?.instances.find(hasLocality)?.locality;
  if (workingset === undefined || locality === undefined) return undefined;
  const kib = (locality.sitesAtLines * workingset.lineBytes) / 1024;
  const remark = locality.rate === 1 ? "" : " They are estimated from a sample of all lines.";
  return `Misses are those of a fully associative cache of ${kib} KiB.${remark}`;
}

const LINES = { count: "lines", counted: "lines" } as const;

export const WORKING_SET_MEASURES: ToolMeasures = {
  tool: "workingset",
  name: "working set",
  whole: "the working set",
  recordedWith: "workingset",
  first: ["first-touch", "share", "new"],
  stacks: ({ workingset }) => workingset && workingSetStacks(workingset),
  gaps: ({ workingset }) => workingset?.notTracked ?? [],
  measures: measuresOf("workingset", { needs: WORKING_SET }, [
    {
      id: "workingset",
      aliases: ["lines"],
      isMain: true,
      unit: "bytes",
      head: "LARGEST",
      title: "working sets of intervals, by call at their end",
      meaning: "bytes of the cache lines that the largest interval touched",
      explainedBy: "working set",
      figures: ["lines"],
      partOf: "first-touch",
      needsForPlaces: "--who when it is recorded",
      combine: "most",
      differs: intervalsDiffer,
      beside: ["mean-workingset", "intervals"],
      column: ofPart("ended", ({ largest }) => largest, { isIn: isMeasured }),
    },
    {
      id: "new",
      isMain: true,
      unit: "bytes",
      title: "lines new to the run, by call at interval ends",
      meaning:
        "bytes of all cache lines of the run, by the call running at the end of the interval that first touched them",
      figures: ["lines"],
      partOf: "new",
      sample: { type: "new_space", done: { verb: "Lines new", ...LINES } },
      beside: ["mean-workingset", "intervals"],
      column: ofPart("ended", ({ fresh }) => fresh, { isIn: ({ levels }) => levels[0] !== undefined }),
    },
    {
      id: "first-touch",
      aliases: ["touched"],
      isMain: true,
      unit: "bytes",
      head: "FIRST",
      title: "lines touched first",
      meaning: "bytes of all cache lines that the run touched, by the code that touched them first",
      explainedBy: "first touch",
      figures: ["lines"],
      partOf: "first-touch",
      needsForPlaces: "--who when a WebAssembly program is recorded",
      sample: { type: "first_touch_space", done: { verb: "Lines touched first", ...LINES } },
      beside: ["touch-share"],
      column: firstTouches,
    },
    {
      id: "share",
      isMain: true,
      unit: "bytes",
      title: "bytes of the working set, by allocation site",
      meaning: "mean bytes of the cache lines of an interval, by the allocation site of their blocks",
      explainedBy: "first touch",
      figures: ["lines"],
      partOf: "share",
      needs: WHO,
      sample: { type: "share_space", done: { verb: "Lines owned in an interval", ...LINES } },
      differs: intervalsDiffer,
      beside: ["owned"],
      column: ofPart("owners", ({ mean }, _, lineBytes) => mean * lineBytes, {
        isIn: hasOwners,
        restOf: ({ owners }, lineBytes) => otherMean(owners, lineBytes),
      }),
    },
    {
      id: "owned",
      unit: "bytes",
      title: "lines of the run, by allocation site",
      meaning: "bytes of all cache lines of the run, by the allocation site of their blocks",
      explainedBy: "first touch",
      figures: ["lines"],
      partOf: "owned",
      needs: WHO,
      sample: { type: "owned_space", done: { verb: "Lines owned", ...LINES } },
      beside: ["share"],
      column: ofPart("owners", ({ total }, _, lineBytes) => total * lineBytes, {
        isIn: hasOwners,
        restOf: ({ owners }, lineBytes) => otherLines(owners, lineBytes),
      }),
    },
    {
      id: "touch-share",
      unit: "bytes",
      head: "INTERVAL",
      title: "lines touched first in their interval",
      meaning: "mean bytes of the cache lines of an interval, by the code that touched them first in it",
      explainedBy: "first touch",
      figures: ["lines"],
      partOf: "touch-share",
      needs: WASM_WHO,
      sample: { type: "touch_share_space", done: { verb: "Lines touched first in an interval", ...LINES } },
      differs: intervalsDiffer,
      beside: ["first-touch"],
      column: ofPart("firstTouch", ({ mean }, _, lineBytes) => mean * lineBytes, {
        isIn: hasFirstTouch,
        restOf: ({ firstTouch }, lineBytes) => otherMean(firstTouch, lineBytes),
      }),
    },
    {
      id: "misses",
      isMain: true,
      unit: "misses",
      title: "cache misses",
      meaning: "misses of the cache size chosen for the run (an estimate if lines were sampled)",
      explainedBy: "miss ratio",
      figures: ["lines"],
      partOf: "misses",
      needs: LOCALITY,
      remark: cacheInWords,
      sample: { type: "misses" },
      differs: cachesDiffer,
      beside: ["references"],
      column: ofLocality(
        ({ misses }) => misses,
        ({ otherSites }) => otherSites.misses,
      ),
    },
    {
      id: "cold-misses",
      aliases: [{ word: "cold", in: ["top", "export"] }],
      unit: "misses",
      head: "COLD",
      title: "first references to lines",
      meaning: "first references to a line, which miss in every cache (an estimate if lines were sampled)",
      explainedBy: "miss ratio",
      figures: ["lines"],
      partOf: "misses",
      needs: LOCALITY,
      sample: { type: "cold_misses" },
      beside: ["references"],
      column: ofLocality(
        ({ cold }) => cold,
        ({ cold, sites }) =>
          Math.max(
            0,
            sites.reduce((remaining, site) => remaining - site.cold, cold),
          ),
      ),
    },
    {
      id: "references",
      unit: "references",
      title: "references of instructions that miss",
      meaning:
        "references to lines by the instructions with the most misses (an estimate if lines were sampled)",
      explainedBy: "miss ratio",
      figures: ["lines"],
      partOf: "references",
      needs: LOCALITY,
      sample: { type: "references" },
      beside: ["misses"],
      column: ofLocality(({ references }) => references),
    },
    {
      id: "intervals",
      unit: "intervals",
      title: "intervals, by call at their end",
      meaning: "intervals of the run, by the call running at their end",
      explainedBy: "working set",
      figures: ["lines"],
      partOf: "intervals",
      sample: { type: "intervals" },
      differs: intervalsDiffer,
      beside: ["workingset", "mean-workingset"],
      column: ofPart("ended", ({ intervals }) => intervals, { isIn: isMeasured }),
    },
    {
      id: "interval-bytes",
      unit: "bytes",
      head: "TOGETHER",
      title: "lines of all intervals together, by call at their end",
      meaning: "bytes of the cache lines of all intervals together, by the call running at their end",
      explainedBy: "working set",
      figures: ["lines"],
      partOf: "interval-bytes",
      sample: { type: "interval_space", done: { verb: "Lines touched in intervals", ...LINES } },
      differs: intervalsDiffer,
      beside: ["mean-workingset", "intervals"],
      column: ofPart("ended", ({ bytes }) => bytes, { isIn: isMeasured }),
    },
    {
      id: "mean-workingset",
      unit: "bytes",
      head: "MEAN",
      title: "mean working set of an interval, by call at its end",
      meaning: "mean bytes of the cache lines that an interval touches, by the call running at its end",
      explainedBy: "working set",
      figures: ["lines"],
      combine: { of: "interval-bytes", by: "intervals" },
      differs: intervalsDiffer,
      beside: ["workingset", "intervals"],
    },
    {
      id: "untouched",
      unit: "bytes",
      title: "untouched bytes of the lines of all intervals",
      meaning: "bytes in the touched cache lines of all intervals that were not accessed themselves",
      explainedBy: "fill",
      figures: ["lines"],
      partOf: "interval-bytes",
      needs: WASM_WHO,
      sample: { type: "untouched_space", done: { verb: "Bytes of lines left untouched", ...LINES } },
      differs: intervalsDiffer,
      beside: ["fill-part", "intervals"],
      column: ofPart("ended", ({ bytes, touched }) => bytes - touched, { isIn: hasFill }),
    },
    {
      id: "fill",
      unit: "bytes",
      head: "UNTOUCHED",
      title: "mean untouched bytes of an interval, by call at its end",
      meaning: "mean bytes in the touched cache lines of an interval that were not accessed themselves",
      figures: ["lines"],
      needs: WASM_WHO,
      combine: { of: "untouched", by: "intervals" },
      differs: intervalsDiffer,
      beside: ["fill-part", "intervals"],
    },
    {
      id: "fill-part",
      unit: "part",
      head: "FILL",
      title: "accessed part of the touched lines",
      meaning: "accessed bytes as a part of all bytes of the touched cache lines",
      explainedBy: "fill",
      figures: ["lines"],
      needs: WASM_WHO,
      combine: { of: "untouched", by: "interval-bytes", isRest: true },
      beside: ["untouched", "intervals"],
    },
  ]),
};
