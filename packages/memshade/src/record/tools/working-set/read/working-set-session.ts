import { getU64 } from "../../../../ground/bytes/numbers.ts";
import { placeBound, unseenBounds } from "../../../../profile/model/bound.ts";
import { counted, groupDigits } from "../../../../profile/model/counted.ts";
import { namedModuleOf } from "../../../../profile/model/named-module.ts";
import type { RunEnd, RunHostFrame } from "../../../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import {
  type InstanceWorkingSet,
  MEASURES,
  type Measure,
  WORKING_SET_SCHEMA,
  WORKING_SET_VERSION,
  type WorkingSetLevel,
  type WorkingSetProfile,
} from "../../../../profile/model/working-set/working-set.ts";
import {
  BUCKETS,
  bucketOf,
  buildLevels,
  FRESH_BUCKET,
  type SnapshotRecord,
  totalOf,
} from "../../../../profile/model/working-set/working-set-series.ts";
import { HostCallers, type ToldStacks, withoutStart } from "../../heap/read/host-callers.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { ToolOptions } from "../../run-options.ts";
import type { InstanceHandle, LinesOf, RunFacts, ToolSession, ToolSnapshot } from "../../session.ts";
import { sentencesOfTool } from "../../session.ts";
import { type AttributionLayout, attributionLayoutOf } from "../attribution/memory-plan.ts";
import { AttributionDescriber, stackDescriber } from "../attribution/read/describe-attribution.ts";
import { type AttributionTables, readAttribution } from "../attribution/read/read-attribution.ts";
import { Control, SNAPSHOT_BYTES, Snapshot } from "../layout.ts";
import { type LocalityLayout, localityLayoutOf } from "../locality/memory-plan.ts";
import { describeLocality, type LocalityTables, readLocality } from "../locality/read.ts";
import { accessesAt, type WorkingSetLayout } from "../memory-plan.ts";
import { describeStacks } from "./describe-stacks.ts";
import { Histories, intervalOf } from "./histories.ts";
import { type NotedFrame, notedFrames } from "./note-stack.ts";

const LINES_PER_PAGE = 64;
const LINES_PER_BIG_PAGE = 1024;
/** Lines beyond the memory at the last check that are looked at: another module may have made it grow since. */
const LOOK_AHEAD = 2 ** 22;

export interface WorkingSetTables {
  /** All snapshots, and the open interval as if it ended now. */
  records: SnapshotRecord[];
  /** Per record: offset of its call stack in the stacks' table plus one, 0 for none. */
  stacks: number[];
  duration: number;
  /** Accesses that passed, if they are counted: in virtual time, or with a sampled locality. */
  accesses: number;
  /** True if the interval of the last record was not full. */
  lastIsPartial: boolean;
  /**
   * Number of times that the module's code is known to have been stopped before its end. Its last counts are missing.
   */
  cutShort: number;
  lost: number;
  /** Size of the program's memory at the last check, or of all touched memory if that is more, bytes. */
  memoryBytes: number;
  stackBytes: number;
}

/** Reads the tables of one instance. Changes nothing, so it may run while the program does. */
export class WorkingSetReader {
  readonly #layout: WorkingSetLayout;
  readonly #memory: WebAssembly.Memory;

  constructor(memory: WebAssembly.Memory, layout: WorkingSetLayout) {
    this.#memory = memory;
    this.#layout = layout;
  }

  read(): WorkingSetTables {
    const view = new DataView(this.#memory.buffer);
    const { records: at, recordCapacity } = this.#layout;
    const taken = view.getUint32(this.#layout.control + Control.records, true);
    const stored = Math.min(taken, recordCapacity);
    const records: SnapshotRecord[] = [];
    const stacks: number[] = [];
    for (let i = 0; i < stored; i++) {
      const record = at + i * SNAPSHOT_BYTES;
      records.push({
        scale: view.getUint32(record + Snapshot.scale, true),
        interval: view.getUint32(record + Snapshot.interval, true),
        start: getU64(view, record + Snapshot.start),
        end: getU64(view, record + Snapshot.end),
        counts: readCounts(view, record + Snapshot.counts),
      });
      stacks.push(view.getUint32(record + Snapshot.stack, true));
    }
    const duration = this.#now(view);
    const { open, marked } = this.#openInterval(view, duration);
    const begun = open.end > open.start || open.counts.lines?.[BUCKETS - 1] !== 0;
    if (begun || records.length === 0) {
      records.push(open);
      stacks.push(0);
    }
    return {
      records,
      stacks,
      duration,
      accesses: this.#accesses(view),
      lastIsPartial: begun,
      cutShort: this.#cutShort(view),
      lost: taken - stored,
      memoryBytes: this.#memoryBytes(view, marked),
      stackBytes: view.getUint32(this.#layout.control + Control.stackNext, true),
    };
  }

  /**
   * Returns the size of the memory. Another module may have grown it, and the instance touched the new part, since the
   * last check. `marked`: end of the lines that the open interval touched.
   */
  #memoryBytes(view: DataView, marked: number): number {
    const { control, bigPages, lines } = this.#layout;
    const noted = view.getUint32(control + Control.highLines, true);
    const stamps = new Uint16Array(this.#memory.buffer, bigPages, Math.ceil(lines / LINES_PER_BIG_PAGE));
    const touched = Math.max(
      stamps.findLastIndex((stamp) => stamp !== 0) + 1,
      Math.ceil(marked / LINES_PER_BIG_PAGE),
    );
    return Math.max(noted, Math.min(lines, touched * LINES_PER_BIG_PAGE)) * 64;
  }

  stack(number: number): NotedFrame[] {
    return notedFrames(new DataView(this.#memory.buffer), this.#layout.stacks, number);
  }

  #now(view: DataView): number {
    const { control, unit } = this.#layout;
    if (unit === "accesses") return this.#accesses(view);
    return Math.max(getU64(view, control + Control.total), getU64(view, control + Control.now));
  }

  #cutShort(view: DataView): number {
    const { control } = this.#layout;
    return view.getUint32(control + Control.traps, true) + view.getUint32(control + Control.inside, true);
  }

  #accesses(view: DataView): number {
    const { control } = this.#layout;
    const before = getU64(view, accessesAt(this.#layout));
    const countdown = view.getInt32(control + Control.clock, true);
    return before + view.getInt32(control + Control.loaded, true) - countdown;
  }

  /** Counts the marks of the open interval as a snapshot would. Returns the end of the marked lines too. */
  #openInterval(view: DataView, now: number): { open: SnapshotRecord; marked: number } {
    const { control, lines, written, both, pages, bigPages } = this.#layout;
    const buffer = this.#memory.buffer;
    const interval = view.getUint32(control + Control.interval, true);
    const counts = readCounts(view, control + Control.counts);
    const readMarks = new Uint8Array(buffer, 0, lines);
    const writtenMarks = new Uint8Array(buffer, written, lines);
    const bothMarks = new Uint8Array(buffer, both, lines);
    const histories = new Histories(buffer, this.#layout, interval);
    const pageStamps = new Uint16Array(buffer, pages, Math.ceil(lines / LINES_PER_PAGE));
    const bigPageStamps = new Uint16Array(buffer, bigPages, Math.ceil(lines / LINES_PER_BIG_PAGE));
    const regionOf = this.#regions(view);
    let marked = 0;
    let lastPage = -1;
    let lastBigPage = -1;
    // Four marks at a time, since nearly all of them are zero.
    const readQuads = new Int32Array(buffer, 0, lines / 4);
    const writtenQuads = new Int32Array(buffer, written, lines / 4);
    const bothQuads = new Int32Array(buffer, both, lines / 4);
    // The marks of gibibytes that the program never had would take room by being read.
    const end = Math.min(lines, view.getUint32(control + Control.highLines, true) + LOOK_AHEAD);
    for (let line = 0; line < end; line++) {
      if ((line & 3) === 0 && (readQuads[line >> 2] | writtenQuads[line >> 2] | bothQuads[line >> 2]) === 0) {
        line += 3;
        continue;
      }
      const isRead = (readMarks[line] | bothMarks[line]) !== 0;
      const isWritten = (writtenMarks[line] | bothMarks[line]) !== 0;
      if (!isRead && !isWritten) continue;
      marked = line + 1;
      const { read, written } = histories.of(line);
      const bucket = Math.min(read, written);
      counts.lines[bucket]++;
      counts[regionOf(line)][bucket]++;
      if (isRead) counts.read[read]++;
      if (isWritten) counts.written[written]++;
      const bothBucket = Math.max(isRead ? 0 : read, isWritten ? 0 : written);
      if (bothBucket !== FRESH_BUCKET) {
        counts.both[Math.max(read, written)]++;
        counts.both[bothBucket]--;
      }
      const page = Math.floor(line / LINES_PER_PAGE);
      if (page !== lastPage) counts.pages4K[bucketOf(interval, intervalOf(pageStamps[page]))]++;
      lastPage = page;
      const bigPage = Math.floor(line / LINES_PER_BIG_PAGE);
      if (bigPage !== lastBigPage) counts.pages64K[bucketOf(interval, intervalOf(bigPageStamps[bigPage]))]++;
      lastBigPage = bigPage;
    }
    const open = {
      scale: view.getUint32(control + Control.scale, true),
      interval,
      start: getU64(view, control + Control.start),
      end: now,
      counts,
    };
    return { open, marked };
  }

  /** Returns a function for the region of a line, by the regions at the host's last entry. */
  #regions(view: DataView): (line: number) => Measure {
    const { control } = this.#layout;
    const [stackFrom, stackTo, heapFrom] = [Control.stackFrom, Control.stackTo, Control.heapFrom].map(
      (word) => view.getUint32(control + word, true),
    ) as [number, number, number];
    return (line) => {
      if (line >= stackFrom && line < stackTo) return "stack";
      return line >= heapFrom ? "heap" : "static";
    };
  }
}

function readCounts(view: DataView, at: number): Record<Measure, Int32Array> {
  return Object.fromEntries(
    MEASURES.map((measure, number) => {
      const buckets = new Int32Array(BUCKETS);
      for (let i = 0; i < BUCKETS; i++) buckets[i] = view.getInt32(at + (number * BUCKETS + i) * 4, true);
      return [measure, buckets];
    }),
  ) as Record<Measure, Int32Array>;
}

/** Checks of the processor time per interval, so that an interval ends soon after it is due. */
const CPU_LOOKS_PER_INTERVAL = 4;
const SHORTEST_LOOK_MS = 1;

/**
 * Provides real time for an instance that another thread runs: writes the time into its memory and sets the flag that
 * the program polls. In the program's own thread it works only while the program returns to its host.
 */
export class IntervalTimer {
  readonly #view: DataView;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #begin: number;
  readonly #now: () => number;
  #due: number;

  constructor(memory: WebAssembly.Memory, layout: WorkingSetLayout) {
    this.#view = new DataView(memory.buffer, layout.control);
    this.#now = layout.unit === "cpu" ? cpuNanoseconds : () => Math.round(performance.now() * 1e6);
    this.#begin = this.#now();
    this.#due = layout.interval;
    const looks = layout.unit === "cpu" ? CPU_LOOKS_PER_INTERVAL : 1;
    const pause = Math.max(SHORTEST_LOOK_MS, layout.interval / 1e6 / looks);
    this.#timer = setInterval(() => this.#checkTime(layout.interval), pause);
    (this.#timer as { unref?(): void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #checkTime(interval: number): void {
    const now = this.#now() - this.#begin;
    this.#view.setBigUint64(Control.now, BigInt(now), true);
    if (now < this.#due) return;
    this.#due = (Math.floor(now / interval) + 1) * interval;
    this.#view.setUint32(Control.flag, 1, true);
  }
}

/** Returns the processor time of this process. A thread that only watches uses almost none. */
function cpuNanoseconds(): number {
  const { user, system } = (globalThis as { process?: NodeJS.Process }).process?.cpuUsage() ?? {
    user: 0,
    system: 0,
  };
  return (user + system) * 1000;
}

export const WORKING_SET_FILE = "workingset.json";

interface SessionInstance {
  number: number;
  module: number;
  thread: number;
  layout: WorkingSetLayout;
  /** Limits of the recording of this module. */
  sentences: readonly string[];
  original: Uint8Array | (() => Uint8Array);
  timer: IntervalTimer | undefined;
  /** Undefined once the instance is gone; `last` has its last figures then. */
  reader: WorkingSetReader | undefined;
  memory: WebAssembly.Memory | undefined;
  locality: LocalityLayout | undefined;
  attribution: AttributionLayout | undefined;
  last: Readings | undefined;
  /** Records before a reset, which are left out. */
  forgotten: number;
  /** Cuts of its code before a reset. */
  forgottenCuts: number;
}

interface Readings extends WorkingSetTables {
  frames: Map<number, NotedFrame[]>;
  locality: LocalityTables | undefined;
  attribution: AttributionTables | undefined;
}

export class WorkingSetSession implements ToolSession {
  readonly tool = "workingset";
  readonly #instances: SessionInstance[] = [];
  readonly #options: ToolOptions;
  readonly #callers = new HostCallers();

  constructor(options: ToolOptions) {
    this.#options = options;
  }

  addInstance(
    handle: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
  ): void {
    const layout = info.toolLayouts?.workingset as WorkingSetLayout;
    this.#instances.push({
      number: handle.number,
      module: handle.module,
      thread: handle.thread ?? 0,
      layout,
      original,
      sentences: sentencesOfTool(info, "workingset"),
      timer: layout.unit === "accesses" ? undefined : new IntervalTimer(memory, layout),
      reader: new WorkingSetReader(memory, layout),
      memory,
      locality: localityLayoutOf(layout),
      attribution: attributionLayoutOf(layout),
      last: undefined,
      forgotten: 0,
      forgottenCuts: 0,
    });
  }

  learnStacks(thread: number, told: ToldStacks): void {
    this.#callers.learn(thread, told);
  }

  releaseInstance(handle: InstanceHandle): void {
    const instance = this.#instances.find(({ number }) => number === handle.number);
    if (instance?.reader === undefined) return;
    instance.timer?.stop();
    instance.last = read(instance);
    instance.reader = undefined;
    instance.memory = undefined;
  }

  reset(): void {
    for (const instance of this.#instances) {
      const { records, cutShort } = read(instance);
      instance.forgotten = records.length;
      instance.forgottenCuts = cutShort;
    }
  }

  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot {
    const readings = this.#instances.map((instance) => {
      const readings = read(instance);
      const incomplete = readings.cutShort > instance.forgottenCuts || isCutShort(instance, end);
      return { instance, readings, incomplete };
    });
    const [first] = this.#instances;
    const { workingset = {} } = this.#options;
    const options = {
      interval: first?.layout.interval ?? workingset.interval ?? 0,
      maxIntervals: first?.layout.maxIntervals ?? workingset.maxIntervals ?? 0,
      assumeAligned: first?.layout.assumeAligned ?? workingset.assumeAligned === true,
      firstTouch: first?.attribution?.firstTouch === true,
      fill: first?.attribution?.fill === true,
      owners: first?.attribution?.owners === true,
    };
    const locality = describeOptions(first?.locality);
    const unit = workingset.unit ?? "accesses";
    const lost = readings.reduce((sum, { readings: { lost } }) => sum + lost, 0);
    const notTracked = [
      ...(lost > 0
        ? [`${groupDigits(lost)} snapshots of the working set are missing: their table was full.`]
        : []),
      ...(readings.some(({ incomplete }) => incomplete) ? [CUT_SHORT] : []),
      ...new Set(
        readings.flatMap(({ instance, readings }) => {
          const name = facts.modules[instance.module]?.name ?? "module";
          return [...instance.sentences, ...untracked(instance, readings)].map(
            (sentence) => `${name}: ${sentence}`,
          );
        }),
      ),
    ];
    const profile: WorkingSetProfile = {
      schema: WORKING_SET_SCHEMA,
      version: WORKING_SET_VERSION,
      memshade: MEMSHADE_VERSION,
      command: [...facts.command],
      program: facts.modules[first?.module ?? 0]?.name ?? "",
      lineBytes: 64,
      unit,
      options: { ...options, ...locality },
      modules: facts.modules.map(namedModuleOf),
      instances: readings.map(({ instance, readings, incomplete }) => ({
        ...describe(instance, readings, facts.linesOf, (number) =>
          this.#callers.framesOfTold(instance.thread, number).map(facts.describeFrame ?? withoutStart),
        ),
        ...(incomplete ? { incomplete } : {}),
      })),
      notTracked,
    };
    return {
      description: {
        unit,
        ...options,
        ...(locality === undefined ? {} : { locality: locality.locality.method }),
      },
      shadowBytes: profile.instances.reduce((sum, { profilerBytes }) => sum + profilerBytes, 0),
      bounds: [
        ...(lost > 0 ? unseenBounds("the table of snapshots was full", ["lines"]) : []),
        ...(readings.some(({ incomplete }) => incomplete)
          ? [
              {
                figures: ["lines"] as const,
                are: "either" as const,
                because: "the program was stopped inside its code",
              },
            ]
          : []),
        ...(readings.some(({ instance, readings }) => untracked(instance, readings).length > 0)
          ? [placeBound(["lines"], "the tables of blocks, lines or call paths were full")]
          : []),
      ],
      files: [{ member: "workingset", name: WORKING_SET_FILE, contents: `${JSON.stringify(profile)}\n` }],
    };
  }
}

const CUT_SHORT =
  "Code of the program trapped or was stopped in the middle: the interval of the working set in which it was is incomplete. Accesses since that began, or since the host was called last, may be missing from the time, and lines that were about to be touched may be counted.";

function isCutShort({ reader, layout }: SessionInstance, { kind }: RunEnd): boolean {
  if (reader === undefined) return false;
  return kind === "trap" || (kind === "signal" && layout.unit === "accesses");
}

function read(instance: SessionInstance): Readings {
  const { reader } = instance;
  if (reader === undefined) return instance.last as Readings;
  const tables = reader.read();
  const frames = new Map([...new Set(tables.stacks)].map((number) => [number, reader.stack(number)]));
  const { memory, locality: layout } = instance;
  const locality =
    memory === undefined || layout === undefined ? undefined : readLocality(memory, layout, tables.accesses);
  const attribution =
    memory === undefined || instance.attribution === undefined
      ? undefined
      : readAttribution(memory, instance.layout, instance.attribution, tables.memoryBytes / 64, () =>
          originalOf(instance),
        );
  return { ...tables, frames, locality, attribution };
}

function originalOf({ original }: SessionInstance): Uint8Array {
  return typeof original === "function" ? original() : original;
}

/** Returns sentences on entries that found no room in the tables of the attribution. */
function untracked({ attribution: layout }: SessionInstance, readings: Readings): string[] {
  const { attribution, memoryBytes } = readings;
  if (layout === undefined || attribution === undefined) return [];
  const { blocksLost, freedLost, ownedLost, listsLost, keysLost } = attribution;
  const sentences: string[] = [];
  if (layout.isLimited && memoryBytes > layout.covered)
    sentences.push(
      `Lines beyond the first ${groupDigits(layout.covered)} bytes of memory have no owners, and their used bytes are not counted.`,
    );
  if (blocksLost > 0)
    sentences.push(`The table of blocks was full: lines of ${counted(blocksLost, "block")} have no owner.`);
  if (freedLost > 0)
    sentences.push(
      `The table of freed blocks was full: ${counted(freedLost, "part")} of them count for the next owner.`,
    );
  if (ownedLost > 0)
    sentences.push(
      `The table of line owners was full: ${counted(ownedLost, "owner")} of parts of lines are missing in longer intervals.`,
    );
  if (listsLost > 0)
    sentences.push(
      `The table of call paths was full: ${counted(listsLost, "interval has", "intervals have")} none.`,
    );
  if (keysLost > 0) sentences.push(`Intervals with very many call paths have some without names.`);
  return sentences;
}

function describeOptions(layout: LocalityLayout | undefined) {
  if (layout === undefined) return undefined;
  const { limit, cacheLines } = layout;
  const rate = (limit + 1) / 2 ** 32;
  return { locality: { method: "shards" as const, rate, cacheBytes: cacheLines * 64 } };
}

function describe(
  instance: SessionInstance,
  readings: Readings,
  linesOf: LinesOf | undefined,
  hostFramesOf: (number: number) => readonly RunHostFrame[],
): InstanceWorkingSet {
  const { layout } = instance;
  const bytes = () => originalOf(instance);
  const records = readings.records.slice(Math.min(instance.forgotten, readings.records.length - 1));
  const levels = buildLevels(records, readings.lastIsPartial);
  const scale = records[records.length - 1].scale;
  const total = Object.fromEntries(MEASURES.map((measure) => [measure, totalOf(records, measure)]));
  const { stacks, numbers } = describeStacks(readings.frames, bytes, linesOf, hostFramesOf);
  // Merged intervals keep the stack of their later half.
  const stackOf: number[] = new Array(levels[0].start.length).fill(-1);
  const offset = readings.records.length - records.length;
  records.forEach((record, i) => {
    const number = numbers.get(readings.stacks[i + offset]);
    if (number !== undefined) stackOf[Math.floor(record.interval / 2 ** (scale - record.scale))] = number;
  });
  return {
    module: instance.module,
    instance: instance.number,
    duration: readings.duration - records[0].start,
    period: layout.interval * 2 ** scale,
    snapshots: records.length - (readings.lastIsPartial ? 1 : 0),
    memoryBytes: readings.memoryBytes,
    profilerBytes: profilerBytes(instance, readings, records.length),
    total,
    levels,
    stackOf,
    stacks,
    ...describeAttribution(instance, readings, records, levels, linesOf),
    ...(instance.locality === undefined || readings.locality === undefined
      ? {}
      : {
          locality: describeLocality(
            instance.locality,
            readings.locality,
            () => new ModuleFunctions(bytes()),
            linesOf?.(bytes()),
          ),
        }),
  };
}

function describeAttribution(
  instance: SessionInstance,
  { attribution: tables, records: allRecords }: Readings,
  records: readonly SnapshotRecord[],
  levels: readonly WorkingSetLevel[],
  linesOf: LinesOf | undefined,
): Pick<InstanceWorkingSet, "firstTouch" | "owners" | "fill"> {
  const { attribution: layout } = instance;
  if (layout === undefined || tables === undefined) return {};
  const scales = levels.map(({ factor, start }) => ({ factor, intervals: start.length }));
  const describer = new AttributionDescriber(tables, records, allRecords.length - records.length, scales);
  const original = originalOf(instance);
  const stackOf = stackDescriber(new ModuleFunctions(original), linesOf?.(original));
  return {
    ...(layout.firstTouch ? { firstTouch: describer.firstTouch(stackOf) } : {}),
    ...(layout.owners ? { owners: describer.owners(stackOf) } : {}),
    ...(layout.fill ? { fill: describer.fill() } : {}),
  };
}

function profilerBytes(
  { attribution: layout }: SessionInstance,
  { memoryBytes, stackBytes, attribution }: Readings,
  snapshots: number,
): number {
  const lines = memoryBytes / 64;
  const working = lines * 3 + Math.ceil(memoryBytes / 2048) + snapshots * 608 + stackBytes;
  if (layout === undefined || attribution === undefined) return working;
  const { firstTouch, fill, owners, covered } = layout;
  const followed = Math.min(memoryBytes, covered);
  const perByte = (fill || owners ? 1 : 0) + (fill ? 2 : 0) + (owners ? 1 : 0);
  return working + (firstTouch ? lines * 4 : 0) + Math.ceil(followed * perByte) + attribution.usedBytes;
}
