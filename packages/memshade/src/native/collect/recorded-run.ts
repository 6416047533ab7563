import { UserError } from "../../bytes/errors.ts";
import { CPU_FILE, type CpuSamples } from "../../model/cpu/cpu-samples.ts";
import { namedModuleOf } from "../../model/named-module.ts";
import { RUN_SCHEMA, RUN_VERSION, type Run, type RunChild, type RunEnd } from "../../model/run.ts";
import { MEMSHADE_VERSION } from "../../model/version.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import type { ProfileFile } from "../../tools/session.ts";
import { describeNative } from "../../tools/working-set/native/read/describe-native.ts";
import type { NativeWorkingSetSession } from "../../tools/working-set/native/read/native-session.ts";
import { WORKING_SET_FILE } from "../../tools/working-set/read/working-set-session.ts";
import { Header } from "../layout.ts";
import type { InsertedTool } from "../native-tool.ts";
import { bytesLeftAlone } from "../rewritten/not-counted.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { contextPath, heapPart } from "./heap-part.ts";
import { readModules } from "./modules.ts";
import { OriginalPlaces } from "./original-places.ts";
import { describeModule, ofCode } from "./run-modules.ts";
import { unsharedMarks } from "./uncounted-accesses.ts";
import { unseen, unseenBlocks } from "./unseen.ts";
import { bytesTaken, wasteRun } from "./waste-run.ts";

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
  /** No code can be inserted into it. */
  isLeftAlone?: boolean | undefined;
  /** The tool whose code was inserted. */
  tool?: InsertedTool | undefined;
}

/** How it was recorded. */
export interface RecordingOptions {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
  /** What its allocator hands out was recorded. */
  blocks: boolean;
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
  { clock, blocks, mappings, children, rewritten = [], notCounted = [] }: RecordingOptions,
): NativeRecord {
  const view = new DataView(memory);
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
    program.tool?.name === "heap"
      ? new Set(rewritten.filter((file) => bytesLeftAlone(file) === 0).map(({ original }) => original))
      : undefined;
  const described = modules.map((module, index) => describeModule(module, index, program.file, counted));
  if (program.tool?.name === "waste") {
    if (counts === undefined || header(Header.countersFailure) !== 0) throw new UserError(NOT_SHARED);
    return wasteRun({
      ...{ counts, memory, places: modules, maps },
      ...{ program, rewritten, modules: described, end, children },
      stackTop: Number(view.getBigUint64(Header.stackTop, true)),
      unseen: [...program.notes, ...unseen(view, replacedBy), ...notCounted],
    });
  }
  const marks = program.tool?.name === "working-set" ? unsharedMarks(view) : [];
  const start = Number(view.getBigUint64(Header.start, true));
  const lines =
    marks.length > 0 || workingSet === undefined
      ? undefined
      : describeNative(
          workingSet,
          {
            ...{ ...program, modules: described.map(namedModuleOf), threads: header(Header.threads) },
            pathOf: (context) => contextPath(view, context, ours),
          },
          samples,
          start,
        );
  const isMarked = lines !== undefined;
  const part = blocks
    ? heapPart({
        ...{ memory, counters, names, modules, ours, clock, mappings, isMarked, end },
        isLeftAlone: program.isLeftAlone === true,
      })
    : undefined;
  const isNoneExpected = replacedBy !== undefined || program.notes.length > 0;
  const gaps = [
    ...marks,
    ...(program.tool?.name === "working-set" && !isMarked && marks.length === 0
      ? [end.kind === "dump" ? NO_LINES_YET : NO_LINES]
      : []),
    ...(blocks ? [...program.notes, ...unseenBlocks(view, isNoneExpected)] : []),
    ...unseen(view, replacedBy),
    ...notCounted,
  ];
  // Nobody asked for samples that are there for the working set alone.
  const cpu = isMarked && samples !== undefined && isEmpty(samples) ? undefined : samples;
  const files: ProfileFile[] = [
    ...(part === undefined ? [] : [part.profile, ...(part.intervals === undefined ? [] : [part.intervals])]),
    ...(cpu === undefined ? [] : [{ name: CPU_FILE, contents: `${JSON.stringify(cpu)}\n` }]),
    ...(isMarked ? [{ name: WORKING_SET_FILE, contents: `${JSON.stringify(lines.profile)}\n` }] : []),
  ];
  const run: Run = {
    schema: RUN_SCHEMA,
    version: RUN_VERSION,
    memshade: MEMSHADE_VERSION,
    command: [...program.command],
    program: program.program,
    tools: {
      heap: part?.tool,
      ...(isMarked ? { workingset: lines.description } : {}),
      ...(cpu === undefined ? {} : { cpu: { hz: cpu.hz } }),
    },
    end,
    modules: described,
    heap: part && { ...part.heap, notTracked: [...part.heap.notTracked, ...gaps] },
    ...(children === undefined ? {} : { children: [...children] }),
    notTracked: part === undefined ? gaps : [],
    presence: {
      modules: 0,
      shadow: part?.heap.profilerBytes ?? (counts === undefined ? 0 : bytesTaken(counts)),
      recorded: files.reduce((sum, { contents }) => sum + contents.length, 0),
    },
    files: {
      heap: part?.profile.name,
      heapIntervals: part?.intervals?.name,
      ...(isMarked ? { workingset: WORKING_SET_FILE } : {}),
      ...(cpu === undefined ? {} : { cpu: CPU_FILE }),
    },
  };
  return { run, files };
}

function isEmpty({ samples, notTracked }: CpuSamples): boolean {
  return samples.ms.length === 0 && notTracked.length === 0;
}

const NOT_SHARED =
  "the program could make no file to share by what it counts: a limit of file sizes, a sandbox, or no room in /dev/shm";

const NO_LINES_YET = "There is no working set yet: the first interval has not ended.";
const NO_LINES = "There is no working set: nobody has seen the marks of lines before the process ended.";
