import { once } from "../../../../ground/bytes/entries.ts";
import { writeRaw } from "../../../../profile/formats/memprof-raw/index.ts";
import type { Bound } from "../../../../profile/model/bound.ts";
import { addCapacity, addGrowth, NO_CAPACITY, NO_GROWTH, stepsOf } from "../../../../profile/model/growth.ts";
import type { Mib } from "../../../../profile/model/mib.ts";
import { addDrag, NO_DRAG } from "../../../../profile/model/over-time/drag.ts";
import {
  HEAP_INTERVALS_FILE,
  type HeapIntervals,
} from "../../../../profile/model/over-time/heap-intervals.ts";
import type { RawContext, RawProfile, RawSegment } from "../../../../profile/model/raw-profile.ts";
import { RETAINERS_FILE, type RetainersFile } from "../../../../profile/model/retainers.ts";
import {
  type HeapTool,
  REACH_FIELDS,
  type RunEnd,
  type RunFunction,
  type RunHeap,
  type RunHost,
  type RunModule,
  type RunSite,
} from "../../../../profile/model/run.ts";
import { STATICS_FILE, type StaticsFile } from "../../../../profile/model/statics.ts";
import type { RunPartFile } from "../../assemble-run.ts";
import type { HeapSessionOptions } from "../../heap-options.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { MODULE_SPAN } from "../../recorded-modules.ts";
import type {
  InstanceHandle,
  LinesOf,
  RecordedModule,
  RunFacts,
  ToolSession,
  ToolSnapshot,
} from "../../session.ts";
import { runPlaces } from "../../source-places.ts";
import { type HeapSeries, withHistory } from "./block-entry.ts";
import { ContextTable, type MergedContext, type ShadowContext } from "./context-table.ts";
import { describeIntervals } from "./describe-intervals.ts";
import { describeStackTakes } from "./describe-stack-takes.ts";
import type { TableMemory } from "./granule-counters.ts";
import { boundsOfBlocks, type Confirmation, confirmAllocator, sentencesOf } from "./heap-notes.ts";
import {
  type DescribeHostFrame,
  HostCallers,
  HostSegment,
  isHostSite,
  stageOfSites,
  type ThreadOf,
  type ToldStacks,
  withoutStart,
} from "./host-callers.ts";
import {
  applyReach,
  heapReach,
  type KnownReach,
  OUT_OF_REACH,
  type ReachSearch,
  reachBounds,
  reachSentences,
} from "./reach/apply-reach.ts";
import type { ReachSums } from "./reach/reach-sums.ts";
import { placeRetainers } from "./reach/retainers.ts";
import {
  type IndexedContext,
  SHADOW_TOTALS,
  type ShadowContents,
  ShadowReader,
  type ShadowTotals,
} from "./read-shadow.ts";
import { staticAccesses, staticsFile } from "./statics-file.ts";

/** Values of a site without access counts, as its use is unknown. */
const UNCOUNTED_SITE = {
  neverAccessed: 0,
  neverAccessedBytes: 0,
  writtenNeverRead: 0,
  writtenNeverReadBytes: 0,
  granulesTouched: 0,
  granules: 0,
} as const satisfies Partial<RunSite>;

export interface HeapSnapshot {
  heap: RunHeap;
  /** Results for each module: whether its allocator is confirmed, and the functions and places of call paths. */
  found: Pick<RunModule, "allocator" | "functions" | "places">[];
  tool: HeapTool;
  notTracked: string[];
  bounds: Bound[];
  /** Undefined if callers in the host were not recorded. */
  host: RunHost | undefined;
  /** The heap over time: content of `heapintervals.json`. */
  intervals: HeapIntervals;
  /** Content of the raw MemProf profile. */
  raw: RawProfile;
  /** Accesses to static data, if its location is known. */
  statics: StaticsFile | undefined;
  /** Retainers of the live blocks, if their reach is known. */
  retainers: RetainersFile | undefined;
}

/** Name of the file with the raw MemProf profile in the run folder. */
export const HEAP_FILE = "heap.memprofraw";
/** Function for contexts beyond the tables' limits. Its offset 0 of a code section can hold no instruction. */
const OVERFLOW_FUNCTION: RunFunction = {
  index: -1,
  name: "[calling contexts beyond --max-contexts]",
  offset: 0,
  end: 1,
};

/** Instances with the same tables, and the figures that these tables handed out earlier. */
interface SessionInstance {
  /** Number of the first instance with these tables. */
  first: number;
  /** Number of instances with these tables: several if they share their memory. */
  members: number;
  /** Identifies the tables of instances that share them. */
  group: string | undefined;
  module: number;
  /**
   * Threads that run the instances with these tables, by the instances' number there. A single instance may have any number.
   */
  threads: Map<number, number>;
  reader: ShadowReader | undefined;
  flushed: ContextTable;
  history: HeapSeries[];
  /** Reachability of the live blocks, for the next profile. */
  reach: KnownReach | undefined;
  /** Finds the reachability when a profile is taken. */
  findReach: ReachSearch | undefined;
  /** Figures of evicted contexts at the last peak so far, by call path. */
  peaks: { stamp: number; sites: number[]; peakBytes: number; peakBlocks: number }[];
}

/** Facts about the run that its heap figures need. */
export type HeapFacts = Pick<RunFacts, "modules" | "recorded" | "describeFrame"> &
  Partial<Pick<RunFacts, "linesOf">>;

/** Figures of an instance, at its end or now. */
interface Finished {
  first: number;
  module: number;
  threadOf: ThreadOf;
  contents: ShadowContents;
  reach: KnownReach | undefined;
  /** Call paths of the contexts in the reach's retainers. */
  pathOf: (context: number) => readonly number[] | undefined;
}

/**
 * Recording of the heap in one run: live instances with their shadow memories, and the figures of instances that are gone.
 * Instances of one module share its contexts. A run without accesses (`alloc`) is a heap run too.
 */
export class HeapSession implements ToolSession {
  readonly tool = "heap";
  readonly #options: HeapSessionOptions;
  readonly #instances = new Map<number, SessionInstance>();
  readonly #callers = new HostCallers();
  #finished: Finished[] = [];
  #isEmpty = true;
  #isWatched = false;

  constructor(options: HeapSessionOptions) {
    this.#options = options;
  }

  /** Adds stacks of a thread that have entered its instances. */
  learnStacks(thread: number, told: ToldStacks): void {
    this.#callers.learn(thread, told);
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Follows an instance by its shadow memory from now on. The instance's number is the "CPU" of its blocks. */
  addInstance(
    { number, module, thread = 0, place }: InstanceHandle,
    memory: TableMemory,
    info: InstrumentedInfo,
  ): void {
    this.#isEmpty = false;
    const known =
      place &&
      [...this.#instances.values()].find(({ group }) => group !== undefined && group === place.group);
    const instance: SessionInstance = known ?? {
      first: number,
      members: 0,
      group: place?.group,
      module,
      threads: new Map(),
      reader: info.layout && new ShadowReader(memory, info.layout, info),
      flushed: new ContextTable(),
      history: [],
      reach: undefined,
      findReach: undefined,
      peaks: [],
    };
    instance.members++;
    instance.threads.set(place?.local ?? 1, thread);
    instance.reader?.setInstance(number, place?.local);
    if (this.#isWatched && known === undefined) instance.reader?.watch(false);
    this.#instances.set(number, instance);
  }

  /** Sets the reachability of an instance's live blocks, for the next profile or the instance's end. */
  setReach(handle: InstanceHandle, reach: KnownReach | undefined): void {
    const instance = this.#instances.get(handle.number);
    if (instance !== undefined) instance.reach = reach;
  }

  /** Replaces results of a past moment by `OUT_OF_REACH`. A result "unknown" stays. */
  forgetReach(): void {
    for (const instance of this.#instances.values())
      if (instance.reach !== undefined && !("unknown" in instance.reach)) instance.reach = OUT_OF_REACH;
  }

  /** Sets the function that finds reachable blocks whenever a profile is taken, in the thread of the instance. */
  setReachSearch(handle: InstanceHandle, look: ReachSearch): void {
    const instance = this.#instances.get(handle.number);
    if (instance !== undefined) instance.findReach = look;
  }

  /**
   * Takes over the ended blocks of an instance whose tables are full. Called in the instance's own thread, from inside it.
   */
  flush(handle: InstanceHandle): boolean {
    const instance = this.#instances.get(handle.number);
    if (instance?.reader === undefined) return false;
    for (const context of instance.reader.readContexts()) {
      const { sites, extras, peakStamp: stamp } = context;
      const { liveBlocks, peakBytes, peakBlocks } = extras;
      if (liveBlocks === 0 && peakBytes > 0) instance.peaks.push({ stamp, sites, peakBytes, peakBlocks });
      Object.assign(extras, { liveBytes: 0, liveBlocks: 0, peakBytes: 0, peakBlocks: 0 });
      instance.flushed.add(instance.module, context);
    }
    const series = instance.reader.readSeries();
    if (series !== undefined) instance.history.push(series);
    // Only blocks live at the newest peak can still matter.
    const newest = instance.peaks.reduce((latest, { stamp }) => Math.max(latest, stamp), 0);
    instance.peaks = instance.peaks.filter(({ stamp }) => stamp === newest);
    return true;
  }

  /** Releases an instance: its blocks end now, its memory is released. */
  releaseInstance(handle: InstanceHandle): void {
    const instance = this.#instances.get(handle.number);
    if (instance === undefined) return;
    this.#instances.delete(handle.number);
    instance.members--;
    if (instance.members === 0) this.#finished.push(finish(instance));
  }

  /**
   * Reads counters of static data before they wrap. Where programs run in other threads, call it several times a second,
   * from before the first instance on. `isLate`: the last time was longer ago.
   */
  watch(isLate: boolean): void {
    this.#isWatched = true;
    for (const { reader } of this.#instances.values()) reader?.watch(isLate);
  }

  /** Discards the figures so far. Blocks that are live now stay recorded, with all their accesses. */
  reset(): void {
    this.#finished = [];
    for (const instance of new Set(this.#instances.values())) {
      instance.flushed = new ContextTable();
      instance.history = [];
      instance.peaks = [];
      instance.reader?.forgetEnded();
    }
  }

  snapshot(_end: RunEnd, facts: RunFacts): ToolSnapshot {
    const { heap, notTracked, host, tool, found, bounds, ...files } = this.figures(facts);
    return {
      description: tool,
      heap: { heap: { ...heap, notTracked }, ...(host === undefined ? {} : { host }) },
      found,
      files: heapFiles(writeRaw(files.raw, files.raw.version), files),
      shadowBytes: heap.profilerBytes,
      bounds,
      warnings: facts.modules.flatMap(({ name }, module) => unseenHeap(name, found[module].allocator)),
    };
  }

  /** Returns the figures so far. Live blocks count as if they ended now. Changes nothing. */
  figures({ modules, recorded, describeFrame = withoutStart, linesOf }: HeapFacts): HeapSnapshot {
    // The garbage collector chooses when an unused instance ends: the profile must not depend on it.
    const all = [...this.#finished, ...[...new Set(this.#instances.values())].map(finish)].sort(
      (a, b) => a.first - b.first,
    );
    const confirmed = recorded.map(({ info }, index) =>
      confirmAllocator(
        info,
        all.filter((entry) => entry.module === index).map(({ contents }) => contents.totals),
      ),
    );
    const trusted = all
      .filter(({ module }) => confirmed[module].refused === undefined)
      .map((one) => ({ ...one, contents: this.#callers.inAllThreads(one.contents, one.threadOf) }));
    const table = new ContextTable();
    for (const { module, contents } of trusted) table.addDistinct(module, contents.contexts);
    const contexts = table.contexts;
    const hostSegment = new HostSegment(BigInt(recorded.length) * MODULE_SPAN, this.#callers);
    const rawContexts = contexts.map((context, index) => rawContextOf(context, index, hostSegment));
    const totals = trusted.map(({ contents }) => contents.totals);
    const host = describeHost(recorded, hostSegment, totals, describeFrame);
    const statics = this.#staticsOf(all, recorded);
    const retainers = placeRetainers(
      trusted.map(({ module, reach, pathOf, threadOf }) => ({
        module,
        reach,
        siteOf: (context) => {
          const path = pathOf(context);
          return path === undefined ? -1 : table.indexOf(module, this.#callers.sitesOf(path, threadOf));
        },
      })),
    );
    return {
      heap: {
        ...heapOf(totals, contexts, { ...this.#options, reach: heapReach(trusted) }),
        ...(statics === undefined ? {} : { staticAccesses: staticAccesses(statics) }),
      },
      found: modules.map((module, index) => ({
        allocator: allocatorOf(module, confirmed[index]),
        ...foundIn(
          recorded[index],
          contexts.filter((context) => context.module === index),
          linesOf,
        ),
        ...this.#stackTakesOf(
          recorded[index],
          all.filter((entry) => entry.module === index),
          describeFrame,
        ),
      })),
      tool: {
        clock:
          this.#options.clock === "wall"
            ? { kind: "wall", unit: "ms" }
            : { kind: "virtual", unit: "allocations" },
        counters: this.#options.counters,
        granuleBytes: 8,
        includeStack: this.#options.includeStack,
        includeAllocator: this.#options.includeAllocator,
        ...(this.#options.observesHost === true && recorded.every(({ info }) => info.knownHost === true)
          ? { knownHost: true }
          : {}),
      },
      notTracked: [...sentencesOf(totals), ...reachSentences(trusted)],
      bounds: [...boundsOfBlocks(totals), ...reachBounds(trusted)],
      host,
      intervals: describeIntervals(trusted, table),
      raw: {
        version: this.#options.rawVersion,
        segments: [...recorded.map(segmentOf), ...(host === undefined ? [] : [hostSegment.segment()])],
        contexts: rawContexts,
      },
      statics,
      retainers,
    };
  }

  #stackTakesOf(
    { original }: RecordedModule,
    instances: readonly Finished[],
    describeFrame: DescribeHostFrame,
  ): Pick<RunModule, "stackTakes"> {
    const taken = instances.flatMap(({ contents, threadOf }) =>
      contents.takenStack === undefined ? [] : [{ taken: contents.takenStack, thread: threadOf(1) }],
    );
    const stackTakes = describeStackTakes(taken, original, this.#callers, describeFrame);
    return stackTakes.length === 0 ? {} : { stackTakes };
  }
  /** Counts accesses to static data, also in modules whose allocator is not confirmed. */
  #staticsOf(all: readonly Finished[], recorded: readonly RecordedModule[]): StaticsFile | undefined {
    const counted = recorded.flatMap(({ info, original }, index) => {
      const instances = all.flatMap(({ module, contents }) =>
        module === index && contents.statics !== undefined ? [contents.statics] : [],
      );
      if (info.statics === undefined || instances.length === 0) return [];
      return [{ index, original: original(), statics: info.statics, instances }];
    });
    return staticsFile(counted, this.#options.counters === "exact" ? "exact" : "merged");
  }
}

function describeHost(
  recorded: readonly RecordedModule[],
  segment: HostSegment,
  totals: readonly ShadowTotals[],
  describeFrame: DescribeHostFrame,
): RunHost | undefined {
  const mode = recorded.map(({ info }) => info.hostStacks).find((one) => one !== undefined);
  const sum = (field: "hostAsked" | "hostLeftOut"): number =>
    totals.reduce((total, instance) => total + instance[field], 0);
  const asked = sum("hostAsked");
  // A host that was never asked for callers is not described.
  if (mode === undefined || mode === "off" || asked === 0) return undefined;
  return segment.describe({ mode, asked, leftOut: sum("hostLeftOut") }, describeFrame);
}

function finish(instance: SessionInstance): Finished {
  const { first, module, group, threads } = instance;
  const threadOf: ThreadOf = (local) => threads.get(group === undefined ? [...threads.keys()][0] : local);
  return { first, module, threadOf, ...contentsOf(instance) };
}

/** Returns an instance's figures, with those that its tables handed out since the last reset. */
function contentsOf(instance: SessionInstance): Pick<Finished, "contents" | "reach" | "pathOf"> {
  const found = instance.reach ?? instance.findReach?.();
  const now = instance.reader?.read() ?? {
    totals: NO_TOTALS,
    contexts: [],
    series: undefined,
    statics: undefined,
    takenStack: undefined,
  };
  const reach = applyReach(now.contexts, found);
  const paths = once(() => pathsOf(now.contexts));
  const { totals } = now;
  const merged = withFlushed(instance, now.contexts, totals);
  return {
    contents: {
      statics: now.statics,
      takenStack: now.takenStack,
      totals: totals.meanwhile === 0 ? totals : { ...totals, ...countsOf(merged, totals) },
      contexts: merged,
      series: now.series && withHistory(now.series, instance.history),
    },
    reach,
    pathOf: (context) => paths().get(context),
  };
}

function pathsOf(contexts: readonly IndexedContext[]): ReadonlyMap<number, readonly number[]> {
  return new Map(contexts.map(({ index, sites }) => [index, sites]));
}

/** Returns the contexts of an instance together with those that its tables handed out. */
function withFlushed(
  { module, flushed, peaks }: SessionInstance,
  now: readonly ShadowContext[],
  { peakStamp, meanwhile }: ShadowTotals,
): ShadowContext[] {
  // Paths that were read while the program went on may be equal.
  if (flushed.contexts.length === 0 && meanwhile === 0) return now.filter(({ mib }) => mib !== undefined);
  const table = new ContextTable();
  for (const context of flushed.contexts) table.add(module, context);
  for (const context of now) table.add(module, context);
  for (const { stamp, sites, peakBytes, peakBlocks } of peaks) {
    const merged = stamp === peakStamp ? table.contexts[table.indexOf(module, sites)] : undefined;
    if (merged === undefined) continue;
    const { extras } = merged;
    merged.extras = {
      ...extras,
      peakBytes: extras.peakBytes + peakBytes,
      peakBlocks: extras.peakBlocks + peakBlocks,
    };
  }
  return table.contexts;
}

/**
 * Returns totals of the contexts, for a program that ran on while its tables were read. Its own totals are of another
 * moment. Blocks that were allocated or freed in between would be missing.
 */
function countsOf(
  contexts: readonly MergedFigures[],
  { overflowBlocks }: ShadowTotals,
): Partial<ShadowTotals> {
  const sum = (figure: (context: MergedFigures) => number): number =>
    contexts.reduce((total, context) => total + figure(context), 0);
  const allocations = overflowBlocks + sum(({ mib }) => mib?.allocCount ?? 0);
  return {
    allocations,
    liveBytes: sum(({ extras }) => extras.liveBytes),
    liveBlocks: Math.min(
      sum(({ extras }) => extras.liveBlocks),
      allocations - overflowBlocks,
    ),
  };
}

type MergedFigures = Pick<ShadowContext, "mib" | "extras">;

const NO_TOTALS = Object.fromEntries(SHADOW_TOTALS.map((name) => [name, 0])) as ShadowTotals;

function heapOf(
  totals: readonly ShadowTotals[],
  contexts: readonly MergedContext[],
  {
    clock,
    counters,
    followsBlocks,
    reach,
  }: Pick<HeapSessionOptions, "clock" | "counters" | "followsBlocks"> & Pick<RunHeap, "reach">,
): RunHeap {
  const sum = (field: keyof ShadowTotals): number =>
    totals.reduce((total, instance) => total + instance[field], 0);
  const allocations = sum("allocations");
  return {
    allocations,
    allocatedBytes: sumOf(contexts, (mib) => mib.totalSize) + sum("unfollowedBytes"),
    frees: allocations - sum("liveBlocks") - sum("overflowBlocks") + sum("unfollowedFrees"),
    peakBytes: sum("peakBytes"),
    peakBlocks: sum("peakBlocks"),
    liveBytes: sum("liveBytes"),
    liveBlocks: sum("liveBlocks"),
    heapAccesses: sumOf(contexts, (mib) => mib.totalAccessCount),
    otherAccesses: sum("otherAccesses"),
    profilerBytes: sum("profilerBytes"),
    ...(sum("spanBytes") === 0 ? {} : { spanBytes: sum("spanBytes") }),
    overflow: { contexts: sum("overflowContexts"), blocks: sum("overflowBlocks") },
    ...(reach === undefined
      ? {}
      : { reach: counters === "none" ? { ...reach, accessesAfter: undefined } : reach }),
    ...(counters === "none" || followsBlocks === false
      ? {}
      : { keptAfterUse: contexts.reduce((total, { extras: { drag } }) => addDrag(total, drag), NO_DRAG) }),
    growth: contexts.reduce((total, { extras: { growth } }) => addGrowth(total, growth), NO_GROWTH),
    ...(counters === "none"
      ? {}
      : {
          capacity: contexts.reduce(
            (total, { extras: { capacity } }) => addCapacity(total, capacity),
            NO_CAPACITY,
          ),
        }),
    sites: contexts.map(({ extras, sites }, index): RunSite => {
      const stage = stageOfSites(sites);
      const { temporary, entries, growth, capacity, drag, collected, ...rest } = extras;
      // JSON leaves out undefined members. An object with deleted members would be slow to copy and to write.
      const counts: Partial<Record<keyof ReachSums, number | undefined>> = rest;
      for (const field of REACH_FIELDS) if (counts[field] === 0) counts[field] = undefined;
      // The figure `temporary` needs a clock that counts allocations.
      return {
        stackId: String(index + 1),
        ...rest,
        ...(counters === "none" ? UNCOUNTED_SITE : {}),
        ...(clock === "virtual" ? { temporary } : {}),
        ...(stage === undefined ? {} : { stage, entries }),
        ...(growth.chains > 0 || stepsOf(growth) > 0 ? { growth } : {}),
        ...(capacity.blocks > 0 ? { capacity } : {}),
        ...(drag.followed > 0 ? { keptAfterUse: drag } : {}),
        ...(collected.blocks > 0 ? { collected } : {}),
      };
    }),
  };
}

function sumOf(contexts: readonly MergedContext[], field: (mib: Mib) => bigint): number {
  return Number(contexts.reduce((sum, { mib }) => sum + field(mib), 0n));
}

function rawContextOf(context: MergedContext, index: number, host: HostSegment): RawContext {
  const start = BigInt(context.module) * MODULE_SPAN;
  const sites = context.sites.length === 0 ? [OVERFLOW_FUNCTION.offset] : context.sites;
  for (const site of sites) if (isHostSite(site)) host.pcsOf(site);
  return {
    stackId: BigInt(index + 1),
    mib: context.mib,
    // The addresses of tens of thousands of paths would take more memory than all else.
    get pcs() {
      return sites.flatMap((site) => (isHostSite(site) ? host.pcsOf(site) : [start + BigInt(site)]));
    },
  };
}

function segmentOf({ info }: RecordedModule, index: number): RawSegment {
  const start = BigInt(index) * MODULE_SPAN;
  const { buildId, codeBytes } = info;
  const bytes = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  return { start, end: start + BigInt(codeBytes), offset: start, buildId: bytes.subarray(0, 32) };
}

/** Returns the description of a module's allocator for the run. */
function allocatorOf({ allocator }: RunModule, { confirmed, refused }: Confirmation): RunModule["allocator"] {
  return { ...allocator, confirmed, ...(refused === undefined ? {} : { refused, doubtful: true }) };
}

/** Returns the functions and places of a module's call paths. */
function foundIn(
  { original }: RecordedModule,
  contexts: readonly MergedContext[],
  linesOf: LinesOf | undefined,
): Pick<RunModule, "functions" | "places"> {
  const sites = new Set<number>();
  for (const context of contexts) for (const site of context.sites) if (!isHostSite(site)) sites.add(site);
  const functions = sites.size === 0 ? [] : new ModuleFunctions(original()).containing(sites);
  const places = sites.size === 0 ? [] : runPlaces(linesOf, original(), sites);
  if (contexts.some((context) => context.sites.length === 0)) functions.unshift(OVERFLOW_FUNCTION);
  return { functions, ...(places.length === 0 ? {} : { places }) };
}

/** Returns a warning for a module that seems to have a heap which is missing in the profile. */
function unseenHeap(name: string, { doubtful, refused }: RunModule["allocator"]): string[] {
  return doubtful === true && refused !== undefined ? [`${name}: ${refused}`] : [];
}

/** Returns the files of a heap in the run folder. */
export function heapFiles(
  contents: Uint8Array,
  { intervals, statics, retainers }: Pick<HeapSnapshot, "intervals" | "statics" | "retainers">,
): RunPartFile[] {
  const json = (
    member: "heapIntervals" | "statics" | "retainers",
    name: string,
    value: unknown,
  ): RunPartFile => ({
    member,
    name,
    contents: `${JSON.stringify(value)}\n`,
  });
  return [
    { member: "heap", name: HEAP_FILE, contents },
    ...(intervals.instances.length > 0 ? [json("heapIntervals", HEAP_INTERVALS_FILE, intervals)] : []),
    ...(statics === undefined ? [] : [json("statics", STATICS_FILE, statics)]),
    ...(retainers === undefined ? [] : [json("retainers", RETAINERS_FILE, retainers)]),
  ];
}
