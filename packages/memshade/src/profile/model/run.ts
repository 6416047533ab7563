import type { Bound } from "./bound.ts";
import type { BlockCollection } from "./collection.ts";
import type { BlockCapacity, BlockGrowth } from "./growth.ts";
import type { BlockDrag } from "./over-time/drag.ts";

/**
 * The description of a run, `run.json`, version 1.
 *
 * It says what ran, what was measured and what was not, and holds what the raw heap profile has no
 * field for. It has no dates and no process ids: two runs of a deterministic program give the same bytes.
 * Counts and byte amounts are JSON numbers.
 */
export const RUN_SCHEMA = "memshade-run";
export const RUN_VERSION = 1;
/** Folder below the current one where runs go if nothing else is asked for. */
export const DEFAULT_RUNS_FOLDER = "memshade.out";

/** Name of the file in its folder. */
export const RUN_FILE = "run.json";
/** Name of the file beside it with names and lines of native programs. They are known when the run is there already. */
export const NAMES_FILE = "names.json";
export const NAMES_SCHEMA = "memshade-names";
/** Names that pages have by default which are made of a run and lie in its folder: they go with the run. */
export const RUN_PAGES = { report: "report.html", diff: "diff.html" } as const;

export interface Run {
  schema: typeof RUN_SCHEMA;
  version: typeof RUN_VERSION;
  /** Version of memshade that recorded the run. */
  memshade: string;
  command: string[];
  /** Short name of the program. */
  program: string;
  tools: {
    heap?: HeapTool | undefined;
    waste?: ToolDescription | undefined;
    workingset?: ToolDescription | undefined;
    /** Objects of garbage-collected languages. */
    objects?: ToolDescription | undefined;
    /** Call paths by CPU time, of native programs. */
    cpu?: ToolDescription | undefined;
  };
  end: RunEnd;
  modules: RunModule[];
  heap?: RunHeap | undefined;
  /** Who has called the modules; absent where nobody asked. */
  host?: RunHost | undefined;
  /** Processes that the program has started, and that have runs of their own; absent where nobody asked for them. */
  children?: RunChild[] | undefined;
  /** Sentences about what no part of the profile covers. */
  notTracked: string[];
  /** Which figures of the heap, or of all tools, are no exact counts; absent: none are known to be. */
  bounds?: Bound[] | undefined;
  /** What the profiler took in memory, as far as it is known. */
  presence?: Presence | undefined;
  /** File names inside the run's directory. */
  files: {
    heap?: string | undefined;
    heapIntervals?: string | undefined;
    waste?: string | undefined;
    workingset?: string | undefined;
    objects?: string | undefined;
    cpu?: string | undefined;
    /** Accesses to static data, recorded with the heap. */
    statics?: string | undefined;
    /** What the process took; where a run folder was written. */
    measured?: string | undefined;
  };
}

/**
 * What the profiler took in the memory of the program's process, bytes: the parts that are the same in every run of one
 * program. Its own code and thread, the engine's code for the rewritten modules, and what rewriting them takes come on top.
 */
export interface Presence {
  /** The rewritten modules; of those that the loader read, whose new size is not known, the original ones. */
  modules: number;
  /** Shadow memory and tables that were touched. */
  shadow: number;
  /** What was recorded, as it is written. */
  recorded: number;
  /** What shadow memory and tables may take: of native programs, whose recording ends there. */
  limit?: number | undefined;
  /** What was measured of the process, where that is known: `measured.json` has it, and `run.json` never. */
  process?: ProcessCost | undefined;
  /** What a native program itself had of memory: from there too. */
  memory?: ProcessMemory | undefined;
}

export const MEASURED_SCHEMA = "memshade-measured";
export const MEASURED_VERSION = 1;

/**
 * What the whole process took from its start until its profile was written, the program and the profiler together. That is
 * never the same twice: it has a file of its own, `measured.json`.
 */
export interface ProcessCost {
  /** What it had in memory when it had most. */
  peakBytes: number;
  /** Processor time of all threads, ms. */
  processorMs: number;
  /** Part of it that rewriting modules took in the threads that asked for them, ms. */
  rewritingMs: number;
  /** Part of it that making the files of the profile took, ms. */
  profileMs: number;
  /** The program ran in other processes, those of a browser, and is not counted. */
  profilerAlone?: boolean | undefined;
}

/** What `measured.json` has: of a native program the second one, of others the first. */
export type Measured = Pick<Presence, "process" | "memory">;

/**
 * What a native program had in memory, without what it shares with others: the profiler's tables are among that. The system is asked a hundred times a second:
 * what is said of the end is of the last time.
 */
export interface ProcessMemory {
  residentBytes: number;
  peakBytes: number;
  /** What its allocator said when it exited; absent: that is not the GNU C library's, it ended otherwise, or a tool's code was in it. */
  allocator?: AllocatorMemory | undefined;
}

/** Bytes that an allocator has of the system. */
export interface AllocatorMemory {
  heldBytes: number;
  /** Of these, what is in no block. */
  freeBytes: number;
  /** Of these, the end of the heap, which it could give back. */
  topBytes: number;
}

/** How the heap was measured. */
export interface HeapTool {
  clock: Clock;
  /**
   * "merged": accesses of one base address inside a basic block are added in one go, so that counts per
   * block are exact but granules are not told apart; "exact": every granule has its own count; "none": no access was counted.
   */
  counters: CounterMode;
  granuleBytes: number;
  includeStack: boolean;
  includeAllocator: boolean;
  /** Memory that a native program maps itself counts as blocks too; absent: it does not. */
  mappings?: boolean | undefined;
  /** The host said exactly what it reads, and blocks that it reads are not unread; absent: it may have read more. */
  knownHost?: boolean | undefined;
}

/** How another tool measured: settings by name. */
export type ToolDescription = Readonly<Record<string, string | number | boolean>>;

/** What timestamps and lifetimes count. */
export interface Clock {
  /** "virtual" advances by what the program does, "wall" by real time. */
  kind: "virtual" | "wall";
  /** "allocations", "ms". */
  unit: string;
}

export type CounterMode = "merged" | "exact" | "none";

/** What ended the run. */
export interface RunEnd {
  /** "ended": how is not known, as of a process that another one waits for. */
  kind: "exit" | "trap" | "exception" | "signal" | "dump" | "ended";
  exitCode?: number;
  signal?: string;
  message?: string;
  /** Recording had ended before the program did: what lived then may have been released later. */
  isLater?: boolean | undefined;
}

/** A child process of a native program. */
export interface RunChild {
  program: string;
  command: string[];
  /** Absent where blocks were not recorded. */
  allocations?: number | undefined;
  allocatedBytes?: number | undefined;
}

export interface RunModule {
  index: number;
  name: string;
  path?: string | null | undefined;
  /** The script that compiled it, where no file is known to have it. */
  script?: string | undefined;
  /** Lower-case hexadecimal digits. */
  buildId: string;
  bytes: number;
  codeBytes: number;
  instances: number;
  /** Some functions that it exports, where no file is known to have it. */
  exports?: string[] | undefined;
  /** Hexadecimal with 0x: the PC of the first byte of the module's code section payload, or of an object's first mapped byte. */
  start: string;
  /** An object of a native program, with the address in it of the first mapped byte, and whether it ran without code that counts, where others had that; absent: a WebAssembly module. */
  object?: { kind: "elf"; address: number; isUncounted?: boolean | undefined } | undefined;
  allocator: RunAllocator;
  /** The functions that occur on recorded stacks. */
  functions: RunFunction[];
  /** Where the places on recorded stacks are in the source, as the module's own debug information has it. Absent without such. */
  places?: RunPlace[] | undefined;
  /** Who has made its instances, if somebody has made several, and how many of these are kept; absent where that is not known. */
  instancesBy?: RunInstances[] | undefined;
  /** Bytes of its stack that its host has taken by several calls and not given back; absent: none are known. */
  stackTakes?: RunStackTakes[] | undefined;
  /** Sentences, by tool: why it recorded nothing of the module. */
  notRecorded?: Partial<Record<string, string>> | undefined;
  /** Sentences about what no tool, or the heap's, sees of it; what others do not see is in their own files. */
  notTracked: string[];
}

/** Instances that one stack of one thread has made. */
export interface RunInstances {
  /** Innermost first. */
  frames: RunHostFrame[];
  /** 0 is the main thread. */
  thread: number;
  made: number;
  /** When the profile was taken, after the host had collected its garbage. */
  kept: number;
  /** Of the memories of those. */
  keptBytes: number;
}

/** Calls of a module, all from one stack of the host, each of which has lowered the module's stack pointer for good. */
export interface RunStackTakes {
  /** The one that was called; absent: exceptions have left whatever was called. */
  function?: string | undefined;
  /** Innermost first; none where the stack is not known. */
  frames: RunHostFrame[];
  /** Of the instance with the most of these calls. */
  calls: number;
  bytes: number;
  /** Size of its stack. */
  stackBytes: number;
}

/** Modules with so little code are made by glue code, to give a function a type for example, where they have no allocator. */
export const TRAMPOLINE_BYTES = 128;

/** How the allocator of a module was found, and whether the run bore it out. */
export interface RunAllocator {
  how: "names" | "exports" | "glue" | "wrapper" | "structure" | "option" | "none";
  /** null: nothing was allocated, so there was nothing to confirm. */
  confirmed?: boolean | null | undefined;
  functions: { role: string; index: number; name?: string | undefined }[];
  /** Why it was given up, as a sentence. */
  refused?: string | undefined;
  /** It was given up although there are functions that look like one. */
  doubtful?: boolean | undefined;
  /** Functions that look like allocators on top of it, each pair as the text of an `--allocator` option. */
  further?: string[] | undefined;
  /** Indices of functions whose result is always the block that a callee allocated, for a size that their caller decides. */
  layers?: number[] | undefined;
}

export interface RunFunction {
  /** Index in the original module; −1 stands for calling contexts beyond the bounds. */
  index: number;
  name?: string | undefined;
  /** Offsets of the body in the code section payload: first byte and byte after the last. */
  offset: number;
  end: number;
}

/** A place in a module's code. */
export interface RunPlace {
  /** In the code section payload. */
  offset: number;
  /** Innermost first: functions that are inlined there, and the one that they are inlined into. */
  frames: RunPlaceFrame[];
}

export interface RunPlaceFrame {
  /** As the linker names it. */
  function?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  /** First line of the function. */
  startLine?: number | undefined;
  /** Its function is declared to give memory of no type in particular to whoever says how much. */
  handsOutMemory?: boolean | undefined;
  /** The line is that of an earlier place: this one has none. */
  approximate?: boolean | undefined;
}

export interface RunHeap {
  allocations: number;
  allocatedBytes: number;
  frees: number;
  peakBytes: number;
  peakBlocks: number;
  /** At the end of the run. */
  liveBytes: number;
  liveBlocks: number;
  /** Accesses that fell into live blocks. */
  heapAccesses: number;
  /** Counted accesses that fell elsewhere: static data, freed memory, the allocator's own. */
  otherAccesses: number;
  /** Those of them between the first data segment and the heap; absent where it is not known where that lies. */
  staticAccesses?: number | undefined;
  /** Memory of the profiler itself that was touched. */
  profilerBytes: number;
  /** What found no room in the bounded tables. */
  overflow: { contexts: number; blocks: number };
  /** Which live blocks are lost; absent where that was not looked for. */
  reach?: HeapReach | undefined;
  /** Of all sites; absent where the run did not follow it. */
  growth?: BlockGrowth | undefined;
  /** Of all sites; absent where the run did not count it. */
  capacity?: BlockCapacity | undefined;
  /** Of all sites; absent where no accesses were counted. */
  keptAfterUse?: BlockDrag | undefined;
  /** Of native programs, in the order in which they allocated first. */
  threads?: RunThreads[] | undefined;
  /** Sentences about what the heap's figures do not cover. */
  notTracked?: string[] | undefined;
  sites: RunSite[];
}

/** What the threads of one name have allocated. */
export interface RunThreads {
  name: string;
  threads: number;
  allocations: number;
  allocatedBytes: number;
}

/**
 * The code that has called the modules: JavaScript. Call paths of the heap go on in it, by addresses in a segment of the raw
 * profile: the first frame is the first byte behind its start.
 */
export interface RunHost {
  /** "sampled": of frequent kinds of entries some were asked, of rare ones all; "exact": all were. */
  mode: "sampled" | "exact";
  /** Hexadecimal with 0x: where the segment begins. */
  start: string;
  /** Entries in which something was allocated, asked who made them and not. */
  asked: number;
  leftOut: number;
  frames: RunHostFrame[];
}

/** A call in the code that has called a module. */
export interface RunHostFrame {
  name: string;
  /** Path or address of the script that ran; absent for the engine's own functions. Lines and columns count from 1. */
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  /** What is behind an `await`: the frames further out have gone on meanwhile. */
  async?: boolean | undefined;
  /** Where its author wrote it, if the script was made of something else. */
  source?: { file: string; line: number; column: number; name?: string | undefined } | undefined;
  /** By what the script was made, to connect a module with its callers: "Emscripten". */
  glue?: string | undefined;
  /** It stands for frames that nobody asked for, or that are not known. */
  is?: "left-out" | "unknown" | undefined;
}

/**
 * Which of the live blocks the program could still get at, by the pointers in its memory and its globals. "Lost" has no pointer to it,
 * "indirectly lost" pointers in lost blocks only, "possibly lost" addresses inside it only. Absent fields are 0, where that was
 * looked for at all.
 */
export interface RunReach {
  lostBytes?: number | undefined;
  lostBlocks?: number | undefined;
  indirectlyLostBytes?: number | undefined;
  indirectlyLostBlocks?: number | undefined;
  possiblyLostBytes?: number | undefined;
  possiblyLostBlocks?: number | undefined;
  stillReachableBytes?: number | undefined;
  stillReachableBlocks?: number | undefined;
  /** Of the indirectly lost ones, whatever their context: those that are lost by way of the lost blocks here. */
  behindLostBytes?: number | undefined;
  behindLostBlocks?: number | undefined;
  /** Those that are not still reachable and were allocated in the second half of the run, by its clock. */
  lateLostBlocks?: number | undefined;
  /** The same of those that are still reachable. */
  lateReachableBlocks?: number | undefined;
  /** Of the same, by estimate: those that nobody accessed after the last look at them, which is soon before the last allocation. */
  idleReachableBlocks?: number | undefined;
  /** Of the same: those of a context that had stopped to allocate, as the program went on for many times its longest pause. */
  doneReachableBlocks?: number | undefined;
  /** Of the late ones that are indirectly lost, by estimate: those that were allocated in the first half of the run by its work. */
  settledLostBlocks?: number | undefined;
  /** Of `behindLostBlocks`, those that were allocated in the second half of the run, by its clock. */
  lateBehindBlocks?: number | undefined;
}

/** The same of the whole heap. What is live and in none of them was not looked for. */
export interface HeapReach
  extends Record<
    Exclude<keyof RunReach, `${"behind" | "late" | "idle" | "done" | "settled"}${string}`>,
    number
  > {
  /** Accesses to live blocks and static data that came soon before the last allocation or after it. Absent: nobody looked. */
  accessesAfter?: number | undefined;
  /** Whether lost blocks may be ones that the host has the addresses of. */
  hostMayHold: boolean;
}

/** What a MIB has no field for, of one context. */
export interface RunSite extends RunReach {
  /** Decimal; the key in the raw profile. */
  stackId: string;
  /** At the end of the run. */
  liveBytes: number;
  liveBlocks: number;
  /** Live at the moment when the whole heap was largest. */
  peakBytes: number;
  peakBlocks: number;
  /** Blocks that were neither read nor written. */
  neverAccessed: number;
  neverAccessedBytes: number;
  /** Blocks that were written but never read. */
  writtenNeverRead: number;
  writtenNeverReadBytes: number;
  /** Granules that were accessed, and granules there are, in all blocks together. */
  granulesTouched: number;
  granules: number;
  reallocations: number;
  /** Blocks freed at most one allocation after their own. */
  temporary?: number | undefined;
  /** When the entry of the host came that the context is of, one of 4 to the power of this was asked; absent: all were. */
  stage?: number | undefined;
  /** How many entries of that stage had the context's innermost stack of the host; absent where `stage` is. */
  entries?: number | undefined;
  /** Absent where no block grew. */
  growth?: BlockGrowth | undefined;
  /** Absent without large blocks that were used. */
  capacity?: BlockCapacity | undefined;
  /** Absent where no block was followed to its last access. */
  keptAfterUse?: BlockDrag | undefined;
  /** Absent where the host's collector gave back none. */
  collected?: BlockCollection | undefined;
}

/** Of a context that nothing is known of. */
export function emptySite(stackId: string): RunSite {
  return {
    stackId,
    liveBytes: 0,
    liveBlocks: 0,
    peakBytes: 0,
    peakBlocks: 0,
    neverAccessed: 0,
    neverAccessedBytes: 0,
    writtenNeverRead: 0,
    writtenNeverReadBytes: 0,
    granulesTouched: 0,
    granules: 0,
    reallocations: 0,
  };
}
