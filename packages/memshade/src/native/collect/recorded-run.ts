import { existsSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { writeRaw } from "../../formats/memprof-raw/index.ts";
import { HEAP_FILE, UNKNOWN_MODULE } from "../../host/run/recorder.ts";
import { loadObject } from "../../load/objects.ts";
import { CPU_FILE, type CpuSamples } from "../../model/cpu/cpu-samples.ts";
import { namedModuleOf } from "../../model/named-module.ts";
import { HEAP_INTERVALS_FILE } from "../../model/over-time/heap-intervals.ts";
import type { RawSegment } from "../../model/raw-profile.ts";
import {
  RUN_SCHEMA,
  RUN_VERSION,
  type Run,
  type RunChild,
  type RunEnd,
  type RunModule,
} from "../../model/run.ts";
import { MEMSHADE_VERSION } from "../../model/version.ts";
import type { ObjectSegment } from "../../objects/index.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { HeapSession } from "../../tools/heap/read/heap-session.ts";
import { UNCOUNTED_SENTENCE } from "../../tools/heap/read/uncounted.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import type { ProfileFile } from "../../tools/session.ts";
import { describeNative } from "../../tools/working-set/native/read/describe-native.ts";
import type { NativeWorkingSetSession } from "../../tools/working-set/native/read/native-session.ts";
import { WORKING_SET_FILE } from "../../tools/working-set/read/working-set-session.ts";
import { Header, Place } from "../layout.ts";
import { NATIVE_LAYOUT } from "../memory-layout.ts";
import type { InsertedTool } from "../native-tool.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { type ProcessModule, readModules } from "./modules.ts";
import { OriginalPlaces } from "./original-places.ts";
import { readThreads } from "./threads.ts";
import { uncountedAccesses, unsharedMarks } from "./uncounted-accesses.ts";
import { unseen } from "./unseen.ts";
import { wasteRun } from "./waste-run.ts";

/** What was started. */
export interface RecordedProgram {
  /** The command as it was typed. */
  command: readonly string[];
  /** Short name. */
  program: string;
  /** Path of the file that ran. */
  file: string;
  /** Sentences about what of it was not seen. */
  notes: readonly string[];
  /** Path of what has memshade's code. */
  image: string;
  /** The tool whose code was inserted. */
  tool?: InsertedTool | undefined;
}

/** How it was recorded. */
export interface RecordingOptions {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
  /** Memory that it maps itself was recorded, too. */
  mappings: boolean;
  /** Processes that it has started, if they were recorded. */
  children?: readonly RunChild[] | undefined;
  /** Files that stood in the place of others, if a tool's code was inserted. */
  rewritten?: readonly RewrittenFile[] | undefined;
  /** Sentences about what ran without that code. */
  notCounted?: readonly string[] | undefined;
}

/** What a process has left, or has so far. */
export interface LeftBehind {
  memory: SharedArrayBuffer;
  /** Of accesses; absent where they were not counted, or nobody else sees the counters. */
  counters?: GranuleCounters | undefined;
  /** Of threads, by their ids. */
  names?: ReadonlyMap<number, string> | undefined;
  /** Absent where none were to be taken. */
  samples?: CpuSamples | undefined;
  /** Path of the program that the process has replaced itself by, which is not recorded. */
  replacedBy?: string | undefined;
  /** Absent where lines were not marked. */
  workingSet?: NativeWorkingSetSession | undefined;
  /** Path of the file with what inserted code has counted; there is none where that is not shared. */
  counts?: string | undefined;
  /** What it had mapped when somebody looked last, as the kernel tells it. */
  maps?: string | undefined;
}

/** What the run folder gets. */
export interface NativeRecord {
  run: Run;
  files: ProfileFile[];
}

/**
 * Makes a run of what a process has left in its memory. Its places in code are the numbers of its sites, so that two runs of one
 * program have the same ones.
 */
export function recordedRun(
  {
    memory,
    counters,
    names = new Map(),
    samples: taken,
    replacedBy,
    workingSet,
    counts,
    maps = "",
  }: LeftBehind,
  program: RecordedProgram,
  end: RunEnd,
  { clock, mappings, children, rewritten = [], notCounted = [] }: RecordingOptions,
): NativeRecord {
  const view = new DataView(memory);
  if (clock === "wall") setClock(view);
  const header = (field: number): number => view.getUint32(field, true);
  const places = new OriginalPlaces(readModules(memory, header(Header.modules)), rewritten);
  places.translate(memory);
  const samples = taken && places.ofSamples(taken);
  const all = places.modules;
  const ours = all.filter(({ name }) => name === program.image);
  const modules = all
    .filter((module) => !ours.includes(module))
    .map((module) => ofCode(module, program.file));
  const counted =
    program.tool?.name === "heap" ? new Set(rewritten.map(({ original }) => original)) : undefined;
  const described = modules.map((module, index) => describe(module, index, program, counted));
  if (program.tool?.name === "waste") {
    if (counts === undefined || header(Header.countersFailure) !== 0) throw new UserError(NOT_SHARED);
    const sentences = unseen(
      view,
      program.notes.length === 0 ? ["blocks are not recorded"] : program.notes,
      replacedBy,
    );
    return wasteRun({
      ...{ counts, maps, stackTop: Number(view.getBigUint64(Header.stackTop, true)) },
      program,
      rewritten,
      modules: described,
      end,
      children,
      unseen: [...sentences, ...notCounted],
    });
  }
  const isCounted = header(Header.isCounting) !== 0;
  const session = new HeapSession({
    ...{ clock, rawVersion: 5, counters: isCounted ? "merged" : "none" },
    ...{ includeStack: false, includeAllocator: false, followsBlocks: false },
  });
  session.addInstance(
    { buffer: memory, counters: counters ?? NO_COUNTERS },
    { ...INFO, clock, tools: [isCounted ? "heap" : "alloc"] },
    UNKNOWN_MODULE,
    null,
  );
  const { heap, tool, notTracked, raw, intervals } = session.snapshot(end);
  const contexts = raw.contexts.map((context) => ({ ...context, pcs: withoutOurs(context.pcs, ours) }));
  const rawBytes = writeRaw({ ...raw, contexts, segments: modules.map(segmentOf) }, raw.version);
  const files: ProfileFile[] = [{ name: HEAP_FILE, contents: rawBytes }];
  const hasIntervals = intervals.instances.length > 0;
  if (hasIntervals) files.push({ name: HEAP_INTERVALS_FILE, contents: `${JSON.stringify(intervals)}\n` });
  if (samples !== undefined) files.push({ name: CPU_FILE, contents: `${JSON.stringify(samples)}\n` });
  const start = Number(view.getBigUint64(Header.start, true));
  const marks = program.tool?.name === "working-set" ? unsharedMarks(view) : [];
  const lines =
    marks.length > 0 || workingSet === undefined
      ? undefined
      : describeNative(workingSet, { ...program, modules: described.map(namedModuleOf) }, samples, start);
  if (lines !== undefined)
    files.push({ name: WORKING_SET_FILE, contents: `${JSON.stringify(lines.profile)}\n` });
  const run: Run = {
    schema: RUN_SCHEMA,
    version: RUN_VERSION,
    memshade: MEMSHADE_VERSION,
    command: [...program.command],
    program: program.program,
    tools: {
      heap: mappings ? { ...tool, mappings } : tool,
      ...(lines === undefined ? {} : { workingset: lines.description }),
      ...(samples === undefined ? {} : { cpu: { hz: samples.hz } }),
    },
    end,
    modules: described,
    heap: {
      ...heap,
      threads: readThreads(memory, names),
      notTracked: [
        ...notTracked.map((one) =>
          one !== UNCOUNTED_SENTENCE ? one : lines === undefined ? UNCOUNTED : UNCOUNTED_BUT_MARKED,
        ),
        ...marks,
        ...(program.tool?.name === "working-set" && lines === undefined && marks.length === 0
          ? [end.kind === "dump" ? NO_LINES_YET : NO_LINES]
          : []),
        ...program.notes,
        ...(isCounted ? uncountedAccesses(view) : []),
        ...unseen(view, program.notes, replacedBy),
        ...notCounted,
      ],
    },
    ...(children === undefined ? {} : { children: [...children] }),
    notTracked: [],
    presence: { modules: 0, shadow: heap.profilerBytes, recorded: rawBytes.length },
    files: {
      heap: HEAP_FILE,
      ...(hasIntervals ? { heapIntervals: HEAP_INTERVALS_FILE } : {}),
      ...(lines === undefined ? {} : { workingset: WORKING_SET_FILE }),
      ...(samples === undefined ? {} : { cpu: CPU_FILE }),
    },
  };
  return { run, files };
}

/** A path without the functions that stand in front of the program's: what begins a thread calls one of them. */
function withoutOurs(pcs: bigint[], ours: readonly ProcessModule[]): bigint[] {
  if (ours.length === 0) return pcs;
  return pcs.filter((pc) => !ours.some(({ start, end }) => pc >= start && pc < end));
}

/** Blocks that are live end now: the process has looked at the clock when it allocated last. */
function setClock(view: DataView): void {
  const passed = (process.hrtime.bigint() - view.getBigUint64(Header.start, true)) / 1_000_000n;
  view.setUint32(Place.control + Control.wallMs, Number(passed), true);
}

/** Where nobody else sees them. */
const NO_COUNTERS: GranuleCounters = { read: (first, end) => new Uint32Array(end - first) };

const NOT_SHARED =
  "the program could make no file to share by what it counts: a limit of file sizes, a sandbox, or no room in /dev/shm";

const UNCOUNTED =
  "Accesses were not counted: nothing is known of how often, how densely or whether at all blocks were used. --tool heap counts them.";

const NO_LINES_YET = "Dumps have no working set: the profile at the end has it.";
const NO_LINES = "There is no working set: nobody has seen the marks of lines before the process ended.";
const UNCOUNTED_BUT_MARKED =
  "How often blocks were used was not counted: --tool heap does that. Which lines were used when is in the working set.";

/** The process as one module of the session: its sites are like places in code. */
const INFO: InstrumentedInfo = {
  ...{ version: 1, name: "process", buildId: "", originalBytes: 0, codeBytes: 0, tools: ["alloc"] },
  ...{ counters: "merged", granuleBytes: 8, clock: "virtual", includeStack: false, includeAllocator: false },
  allocator: { how: "names", needsConfirmation: false, functions: [] },
  ...{ sharedMemory: false, layout: NATIVE_LAYOUT, hiddenExports: [], notTracked: [] },
};

const EXECUTABLE = 1;

/** MemProf's readers take a segment for the one with the code: where the object has that is in its file. */
function ofCode(module: ProcessModule, file: string): ProcessModule {
  if (!module.isObject) return module;
  const segment = executableSegment(module.name || file);
  const skipped = segment === undefined ? 0 : segment.address - module.address;
  if (skipped <= 0 || module.start + skipped >= module.end) return module;
  return { ...module, start: module.start + skipped, address: module.address + skipped };
}

function executableSegment(path: string): ObjectSegment | undefined {
  try {
    return loadObject(path).object.segments.find(({ flags }) => (flags & EXECUTABLE) !== 0);
  } catch {
    // It is gone, or it is none, as the kernel's own: its file has no say.
    return undefined;
  }
}

function segmentOf({ start, end, buildId }: ProcessModule): RawSegment {
  const bytes = Uint8Array.from(buildId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  return { start: BigInt(start), end: BigInt(end), offset: BigInt(start), buildId: bytes };
}

function isAmong(path: string | null, files: ReadonlySet<string>): boolean {
  return path !== null && existsSync(path) && files.has(realpathSync(path));
}

/** @param counted paths of files with code that counts accesses; undefined: none was inserted */
function describe(
  module: ProcessModule,
  index: number,
  { file }: RecordedProgram,
  counted: ReadonlySet<string> | undefined,
): RunModule {
  const path = module.isObject ? module.name || file : null;
  return {
    index,
    name: path === null ? "[memory with code]" : basename(path),
    path,
    buildId: module.buildId,
    bytes: (path === null ? undefined : statSync(path, { throwIfNoEntry: false })?.size) ?? 0,
    codeBytes: module.end - module.start,
    instances: 1,
    start: `0x${module.start.toString(16)}`,
    object: {
      ...{ kind: "elf", address: module.address },
      ...(counted === undefined || isAmong(path, counted) ? {} : { isUncounted: true }),
    },
    allocator: { how: "names", confirmed: true, functions: [] },
    functions: [],
    notTracked: [],
  };
}
