import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { KIB } from "../../../ground/bytes/sizes.ts";
import { loadObject } from "../../../names/load/objects.ts";
import {
  BLOCK_FIGURES,
  type Bound,
  FIGURES,
  placeBound,
  unseenBounds,
} from "../../../profile/model/bound.ts";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import { CPU_FILE, type CpuSamples } from "../../../profile/model/cpu.ts";
import { namedModuleOf } from "../../../profile/model/named-module.ts";
import type {
  AllocatorMemory,
  ProcessMemory,
  RunEnd,
  RunHeap,
  RunModule,
} from "../../../profile/model/run.ts";
import { MEASURED_FILE, measuredFile } from "../../host/run/measured.ts";
import { assembleRun, filesOfParts, type RunPart } from "../../tools/assemble-run.ts";
import { Control, NODE_BYTES, Node } from "../../tools/heap/layout.ts";
import { WASTE_FILE, wasteText } from "../../tools/waste/read/waste-file.ts";
import { WORKING_SET_FILE } from "../../tools/working-set/read/working-set-session.ts";
import { AllocatorWord, Header, Place } from "../layout.ts";
import type { NativeToolName } from "../native-tool.ts";
import { Origins } from "../rewrite/origins.ts";
import { bytesLeftAlone, namesOf } from "../rewritten/not-counted.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { type FollowedFile, hasRun, nativeWaste } from "../tools/waste/read/native-waste-file.ts";
import { describeNative } from "../tools/working-set/read/describe-native.ts";
import { filesReadAsData } from "./code-read.ts";
import { contextPath, describeModule, type HeapPart, heapPart, ofCode, unsharedMarks } from "./heap-part.ts";
import type { LeftBehind, NativeRecord, RecordedProgram, RecordingOptions } from "./left-behind.ts";
import { type ProcessModule, readModules } from "./modules.ts";
import type { ToolReader } from "./tool-reader.ts";

/** Makes the waste tool's part of a run. This tool does not record blocks. */
const WASTE_READER: ToolReader = {
  hasCounts: true,
  withoutBlocks: true,

  read({ data: left, view, modules: places, described, program, rewritten: files, originalOf }) {
    const { counts, memory, maps = "" } = left;
    if (counts === undefined || view.getUint32(Header.countersFailure, true) !== 0)
      throw new UserError(NOT_SHARED);
    const modules = [...described, ...unmet(files, described, counts, program.file)];
    const { file: contents, bounds } = nativeWaste(program.command, counts, followedFiles(modules, files), {
      ...program.tool?.options,
      maps,
      stackTop: Number(view.getBigUint64(Header.stackTop, true)),
      programs: dirname(program.image),
      callersOf: (context) =>
        program.tool?.options.contexts === true
          ? callersOf(memory, places, context)
          : callAt(places, originalOf(context)),
      pathOf: (node) => pathOf(memory, places, node),
    });
    return {
      modules,
      gaps: [],
      part: {
        tools: { waste: { ...contents.options } },
        files: [{ member: "waste", name: WASTE_FILE, contents: wasteText(contents) }],
        shadowBytes: bytesTaken(counts),
        bounds,
      },
    };
  },
};

const NOT_SHARED =
  "the program could not create the shared file for its counts: a limit of file sizes, a sandbox, or no room in /dev/shm";

/**
 * Returns rewritten files with their modules. A file that was loaded several times has one set of counters.
 */
function followedFiles(modules: readonly RunModule[], files: readonly RewrittenFile[]): FollowedFile[] {
  const rewritten = new Map(files.map((file) => [file.original, file]));
  const counted = new Set<string>();
  return modules.flatMap((module): FollowedFile[] => {
    const path = realPathOf(module);
    const file = path === undefined ? undefined : rewritten.get(path);
    if (path === undefined || file === undefined || counted.has(path)) return [];
    counted.add(path);
    return [{ module: namedModuleOf(module), path, notes: file.notes }];
  });
}

/**
 * Returns modules of files whose code ran without being recorded: the process loaded them late, and ended by
 * `_exit` or a signal.
 */
function unmet(
  files: readonly RewrittenFile[],
  modules: readonly RunModule[],
  counts: string,
  program: string,
): RunModule[] {
  const knownPaths = new Set(modules.map((module) => realPathOf(module)));
  return files
    .filter(({ original, notes }) => !knownPaths.has(original) && hasRun(counts, notes))
    .map(({ original }, i) => {
      const buildId = loadObject(original).object.buildId ?? "";
      const nowhere = { start: 0, end: 0, address: 0, bias: 0, mark: 0, tableKey: "", isObject: true };
      return describeModule({ ...nowhere, name: original, buildId }, modules.length + i, program, undefined);
    });
}

interface Call {
  module: number;
  address: number;
}

/** Returns the calls on the path to a node of the calling context tree, without that to the node itself. */
function callersOf(memory: SharedArrayBuffer, places: readonly ProcessModule[], node: number): Call[] {
  return pathOf(memory, places, new DataView(memory).getUint32(node + Node.parent, true));
}

/** Returns the calls on the path to a node, innermost first, without calls of memshade. */
function pathOf(memory: SharedArrayBuffer, places: readonly ProcessModule[], node: number): Call[] {
  const view = new DataView(memory);
  const calls: Call[] = [];
  for (let at = node; at !== Place.nodes; ) {
    calls.push(...callAt(places, view.getUint32(at + Node.site, true)));
    at = view.getUint32(at + Node.parent, true);
  }
  return calls;
}

/** Returns the call at a site; empty for a call of memshade. */
function callAt(places: readonly ProcessModule[], site: number): Call[] {
  const module = places.findIndex(({ start, end }) => site >= start && site < end);
  return module < 0 ? [] : [{ module, address: site - places[module].start + places[module].address }];
}

const BLOCK_BYTES = 512;

function bytesTaken(path: string): number {
  return statSync(path).blocks * BLOCK_BYTES;
}

function realPathOf({ path }: RunModule): string | undefined {
  return path !== null && path !== undefined && existsSync(path) ? realpathSync(path) : undefined;
}

interface NewCode {
  /** Sites of new code: `[start, end)`. */
  start: number;
  end: number;
  /** Site minus address in the object. */
  distance: number;
  origins: Origins;
}

/**
 * Maps sites in rewritten code to sites of the original. A run then contains only original places, as if no
 * file had been rewritten.
 */
class OriginalPlaces {
  readonly modules: readonly ProcessModule[];
  readonly #newCode: NewCode[] = [];
  readonly #originals = new Map<number, number>();

  constructor(modules: readonly ProcessModule[], files: readonly RewrittenFile[]) {
    const byMark = new Map(files.map((file) => [file.mark, file]));
    this.modules = modules.map((module) => {
      const file = module.mark === 0 ? undefined : byMark.get(module.mark);
      return file === undefined ? module : this.#takeOne(module, file);
    });
  }

  #takeOne(module: ProcessModule, file: RewrittenFile): ProcessModule {
    const origins = new Origins(readFileSync(file.origins));
    const distance = module.start - module.address;
    const start = origins.start + distance;
    this.#newCode.push({ start, end: module.end, distance, origins });
    const { segments } = loadObject(file.original).object;
    const end = segments.reduce((most, segment) => Math.max(most, segment.address + segment.memorySize), 0);
    return { ...module, end: Math.min(module.end, end + distance) };
  }

  /** Returns the original's site for a site in new code, and other sites unchanged. */
  originalSite(site: number): number {
    const newCode = this.#newCode.find(({ start, end }) => site >= start && site < end);
    if (newCode === undefined) return site;
    let original = this.#originals.get(site);
    if (original === undefined) {
      original = newCode.origins.originOf(site - newCode.distance) + newCode.distance;
      this.#originals.set(site, original);
    }
    return original;
  }

  translate(memory: SharedArrayBuffer): void {
    if (this.#newCode.length === 0) return;
    const view = new DataView(memory);
    const count = view.getUint32(Place.control + Control.nodeNext, true);
    for (let node = 0; node <= count; node++) {
      const at = Place.nodes + NODE_BYTES * node + Node.site;
      view.setUint32(at, this.originalSite(view.getUint32(at, true)), true);
    }
  }

  ofSamples(samples: CpuSamples): CpuSamples {
    const { caller, site } = samples.stacks;
    return { ...samples, stacks: { caller, site: site.map((each) => this.originalSite(each)) } };
  }
}

const NO_LINES_YET = "There is no working set yet: the first interval has not ended.";
const NO_LINES = "There is no working set: the process ended before its first interval was read.";

const WORKING_SET_READER: ToolReader = {
  read({ data: { workingSet, samples, counts }, view, program, described, ours, isRunning }) {
    const unshared = unsharedMarks(view);
    if (unshared.length > 0) return { part: undefined, gaps: unshared };
    const facts = {
      ...program,
      modules: described.map(namedModuleOf),
      threads: view.getUint32(Header.threads, true),
      pathOf: (context: number) => contextPath(view, context, ours),
    };
    const start = Number(view.getBigUint64(Header.start, true));
    const lines = workingSet && describeNative(workingSet, facts, samples, start);
    if (lines === undefined) return { part: undefined, gaps: [isRunning ? NO_LINES_YET : NO_LINES] };
    const { profile, description, bounds } = lines;
    const contents = `${JSON.stringify(profile)}\n`;
    return {
      gaps: [],
      part: {
        tools: { workingset: description },
        files: [{ member: "workingset", name: WORKING_SET_FILE, contents }],
        shadowBytes: counts === undefined ? 0 : bytesTaken(counts),
        bounds,
      },
    };
  },
};

const WORD_BYTES = 8;

/**
 * Returns the memory of a process, by the kernel's last figures and by those of its allocator at the exit;
 * undefined if the kernel's are missing. Shared memory is left out, because it contains the tables of the
 * recording.
 */
export function processMemory(view: DataView, status = ""): ProcessMemory | undefined {
  const bytes = (field: string): number | undefined => {
    const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
    return kib === undefined ? undefined : Number(kib) * KIB;
  };
  const [resident, peak, shared] = [bytes("VmRSS"), bytes("VmHWM"), bytes("RssShmem") ?? 0];
  if (resident === undefined || peak === undefined) return undefined;
  // Shared memory only grows, so it was not larger at the peak.
  const residentBytes = Math.max(0, resident - shared);
  const allocator = allocatorMemory(view);
  return {
    residentBytes,
    peakBytes: Math.max(residentBytes, peak - shared),
    ...(allocator === undefined ? {} : { allocator }),
  };
}

function allocatorMemory(view: DataView): AllocatorMemory | undefined {
  if (view.getUint32(Header.isAllocatorAsked, true) === 0) return undefined;
  const word = (index: number): number =>
    Number(view.getBigUint64(Header.allocator + WORD_BYTES * index, true));
  return {
    heldBytes: word(AllocatorWord.arenas) + word(AllocatorWord.ranges),
    freeBytes: word(AllocatorWord.free),
    topBytes: word(AllocatorWord.top),
  };
}

const READERS: Readonly<Record<NativeToolName, ToolReader>> = {
  heap: { countsAccesses: true },
  waste: WASTE_READER,
  "working-set": WORKING_SET_READER,
};

const NOT_ASKED = { unknown: "--no-reach was given" };

/**
 * Makes a run from the data of a process. Places in code are site numbers, so two runs of one program have
 * the same places.
 */
export function recordedRun(
  found: LeftBehind,
  program: RecordedProgram,
  end: RunEnd,
  {
    clock,
    blocks,
    mappings,
    children,
    rewritten = [],
    memoryLimit,
    noReach,
    notCounted = [],
  }: RecordingOptions,
): NativeRecord {
  const { memory, counters, names = new Map(), replacedBy, workingSet, counts, status } = found;
  const view = new DataView(memory);
  const reader = program.tool && READERS[program.tool.name];
  const loaded = readModules(memory, view.getUint32(Header.modules, true));
  const places = new OriginalPlaces(loaded, rewritten);
  places.translate(memory);
  const isCounting = view.getUint32(Header.isCounting, true) !== 0;
  const readAsData = filesReadAsData(loaded, rewritten, {
    counters: isCounting ? counters : undefined,
    counts: reader?.hasCounts === true ? counts : undefined,
    lines: workingSet?.lines,
  });
  const samples = found.samples && places.ofSamples(found.samples);
  const allModules = places.modules;
  const ours = allModules.filter(({ name }) => name === program.image);
  const modules = allModules
    .filter((module) => !ours.includes(module))
    .map((module) => ofCode(module, program.file));
  const isWhole = (file: RewrittenFile): boolean => bytesLeftAlone(file) === 0;
  const whole =
    reader?.countsAccesses === true
      ? new Set(rewritten.filter(isWhole).map(({ original }) => original))
      : undefined;
  const described = modules.map((module, index) => describeModule(module, index, program.file, whole));
  const ofTool = reader?.read?.({
    data: { ...found, samples },
    view,
    program,
    modules,
    described,
    ours,
    rewritten,
    originalOf: (site) => places.originalSite(site),
    isRunning: end.kind === "dump",
  });
  const heap =
    blocks && reader?.withoutBlocks !== true
      ? heapPart({
          memory,
          counters,
          names,
          modules,
          ours,
          clock,
          mappings,
          isLeftAlone: program.isLeftAlone === true,
          reach: found.reach ?? (noReach === true ? NOT_ASKED : undefined),
        })
      : undefined;
  const isNoneExpected = replacedBy !== undefined || program.notes.length > 0;
  const gaps = [
    ...(readAsData.length === 0 ? [] : [readSentence(readAsData)]),
    ...(ofTool?.gaps ?? []),
    ...(blocks || reader?.withoutBlocks === true ? program.notes : []),
    ...(heap === undefined ? [] : unseenBlocks(view, isNoneExpected)),
    ...earlierPrograms(program),
    ...unseen(view, replacedBy),
    ...(children === undefined
      ? unseenChildren(program.program, heap?.heap.allocatedBytes, found.childFaults)
      : []),
    ...notCounted,
  ];
  // Samples without content that were taken only for a tool are left out.
  const hasCpu = samples !== undefined && !(ofTool?.part !== undefined && isEmpty(samples));
  const parts: RunPart[] = [
    ...(heap === undefined ? [] : [{ ...heap.part, heap: { heap: withGaps(heap.heap, gaps) } }]),
    ...(ofTool?.part === undefined ? [] : [ofTool.part]),
    ...(hasCpu ? [cpuPart(samples)] : []),
  ];
  const run = assembleRun(
    {
      command: [...program.command],
      program: program.program,
      end,
      modules: [...(ofTool?.modules ?? described)],
      children: children && [...children],
      notTracked: heap === undefined ? gaps : [],
      bounds: boundsOfProcess(view, replacedBy),
      rewrittenBytes: 0,
      memoryLimit,
    },
    parts,
  );
  const measured = replacedBy === undefined ? processMemory(view, status) : undefined;
  if (measured === undefined) return { run, files: filesOfParts(parts), readAsData };
  run.files.measured = MEASURED_FILE;
  return { run, files: [measuredFile({ memory: measured }), ...filesOfParts(parts)], readAsData };
}

function withGaps(heap: HeapPart["heap"], gaps: readonly string[]): RunHeap {
  return { ...heap, notTracked: [...heap.notTracked, ...gaps] };
}

function cpuPart(samples: CpuSamples): RunPart {
  const contents = `${JSON.stringify(samples)}\n`;
  return {
    tools: { cpu: { hz: samples.hz } },
    files: [{ member: "cpu", name: CPU_FILE, contents }],
    shadowBytes: 0,
    bounds: [],
  };
}

function readSentence(files: readonly RewrittenFile[]): string {
  const names = namesOf(files.map(({ original }) => original));
  return `The program has read its own code as data (${names}), into which memshade had put jumps: its results may be wrong.`;
}

function isEmpty({ samples, notTracked }: CpuSamples): boolean {
  return samples.ms.length === 0 && notTracked.length === 0;
}

/**
 * Returns the figures of a process that are only bounds, because some of its calls were not recorded.
 * @param replacedBy path of a program that the process has executed
 */
export function boundsOfProcess(view: DataView, replacedBy?: string): Bound[] {
  const count = (field: number): number => Number(view.getBigUint64(field, true));
  const [early, unrecorded] = [count(Header.early), count(Header.unrecorded)];
  const refused = view.getUint32(Header.threadsRefused, true);
  const folded = view.getUint32(Header.foldedCalls, true);
  const [lost, cut] = [count(Header.lostStacks), count(Header.cutStacks)];
  const hasThreads = view.getUint32(Header.threads, true) > 1;
  const isUnshared = view.getUint32(Header.countersFailure, true) !== 0;
  const some = (
    number: number,
    bounds: (calls: string) => Bound[],
    singular: string,
    many: string,
  ): Bound[] => (number === 0 ? [] : bounds(counted(number, singular, many)));
  const byPlace = (because: string): Bound[] => [placeBound(FIGURES, because)];
  const unseen = (because: string): Bound[] => unseenBounds(because, BLOCK_FIGURES);
  return [
    ...(replacedBy === undefined ? [] : unseenBounds(`the program has replaced itself by ${replacedBy}`)),
    ...some(early, unseen, "call of the allocator came", "calls of the allocator came").map(
      (bound): Bound => ({ ...bound, because: `${bound.because} before anything could be recorded` }),
    ),
    ...some(
      unrecorded,
      unseen,
      "call of the allocator was not recorded",
      "calls of the allocator were not recorded",
    ),
    ...some(refused, unseen, "thread was not recorded", "threads were not recorded"),
    ...some(folded, byPlace, "call of recursion was left out", "calls of recursion were left out"),
    ...some(lost, byPlace, "stack ended early", "stacks ended early"),
    ...some(cut, byPlace, "stack was deeper than is kept", "stacks were deeper than is kept"),
    ...(hasThreads
      ? [
          {
            figures: ["accesses", "written"] as const,
            are: "least" as const,
            because: "two threads' accesses to the same bytes at the same time may count as one",
          },
        ]
      : []),
    ...(isUnshared
      ? unseenBounds("no shared memory could be created for the access counters", ["accesses", "unused"])
      : []),
  ];
}

/** Times that the memory of unrecorded children must exceed what a program allocates: it then did almost nothing. */
const MOST_OF_CHILDREN = 10;
const PAGE_BYTES = 4096;

/**
 * Returns a sentence about a program that has left its work to child processes, such as `make` and `timeout`.
 *
 * @param childFaults pages that the children have touched
 */
export function unseenChildren(program: string, allocatedBytes?: number, childFaults = 0): string[] {
  const isLeft = allocatedBytes !== undefined && childFaults * PAGE_BYTES > MOST_OF_CHILDREN * allocatedBytes;
  return isLeft
    ? [`${program} has left its work to other processes: --trace-children records them, too.`]
    : [];
}

function earlierPrograms({ program, earlier = [] }: RecordedProgram): string[] {
  if (earlier.length === 0) return [];
  const names = earlier.join(", then ");
  return [`Only ${program} is recorded: ${names} ran before it in the same process (exec).`];
}

/**
 * Returns sentences about unrecorded parts of a process, for all tools.
 * @param replacedBy path of a program that the process has executed
 */
function unseen(view: DataView, replacedBy?: string): string[] {
  const refused = view.getUint32(Header.threadsRefused, true);
  return [
    ...(replacedBy === undefined
      ? []
      : [
          `The program has replaced itself by ${replacedBy} (exec), which is not recorded: run that program instead, or record both with --trace-children.`,
        ]),
    ...some(
      count(view, Header.early),
      ["call", "calls"],
      "of the allocator came before the recording began, and are not counted.",
    ),
    ...some(
      count(view, Header.unrecorded),
      ["call", "calls"],
      "of the allocator are not recorded: made in signal handlers, or while the tables were locked.",
    ),
    ...some(
      view.getUint32(Header.foldedCalls, true),
      ["call", "calls"],
      "inside recursion left out of call paths, to limit their number: only the calls that enter and leave the recursion are kept.",
    ),
    ...some(
      refused,
      ["thread is", "threads are"],
      "not recorded: there were more threads than the tables have room for.",
    ),
  ];
}

/**
 * Returns sentences about unrecorded blocks.
 * @param isNoneExpected another sentence explains why there may be no blocks
 */
function unseenBlocks(view: DataView, isNoneExpected: boolean): string[] {
  const large = count(view, Header.largeRanges);
  return [
    ...(!isNoneExpected && count(view, Place.control + Control.allocations) === 0
      ? [
          "No allocation was recorded: the program makes none, has its own allocator, or has replaced itself by another program (exec).",
        ]
      : []),
    ...some(
      count(view, Header.lostStacks),
      ["call path is", "call paths are"],
      "incomplete: the code has no unwind information.",
    ),
    ...some(
      count(view, Header.cutStacks),
      ["stack was", "stacks were"],
      "deeper than the recorded limit: the outermost frames are missing.",
    ),
    ...some(
      large,
      ["mapped range", "mapped ranges"],
      `of 4 GiB or more ${large === 1 ? "is" : "are"} not counted as blocks (${groupDigits(count(view, Header.largeRangeBytes) / 2 ** 30)} GiB, usually only reserved addresses).`,
    ),
    ...(view.getUint32(Header.parent, true) === 0
      ? []
      : [
          "This process was forked: blocks that its parent allocated before are counted in the parent's run.",
        ]),
  ];
}

function count(view: DataView, field: number): number {
  return Number(view.getBigUint64(field, true));
}

function some(number: number, [singular, many]: readonly [string, string], rest: string): string[] {
  return number === 0 ? [] : [`${counted(number, singular, many)} ${rest}`];
}
