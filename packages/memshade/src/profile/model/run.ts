import type { Bound } from "./bound.ts";
import type { BlockCollection } from "./collection.ts";
import type { BlockCapacity, BlockGrowth } from "./growth.ts";
import type { BlockDrag } from "./over-time/drag.ts";

/**
 * Description of a run, `run.json`, version 2. Version 1 had the sites of the heap as rows.
 *
 * The file names the program, the recorded and the missing data, and holds figures without a field in the raw heap
 * profile. It has no dates and no process ids: two runs of a deterministic program give the same bytes. Counts and byte
 * amounts are JSON numbers.
 */
export const RUN_SCHEMA = "memshade-run";
export const RUN_VERSION = 2;
export const RUN_VERSIONS = [1, RUN_VERSION] as const;
/** Default folder of runs, below the current one. */
export const DEFAULT_RUNS_FOLDER = "memshade.out";

export const RUN_FILE = "run.json";
/**
 * Name of the file beside `run.json` with the names and lines of native programs, which are resolved after the run is
 * written.
 */
export const NAMES_FILE = "names.json";
export const NAMES_SCHEMA = "memshade-names";
/** Default names of pages that are made from a run and lie in its folder, so that they are deleted with it. */
export const RUN_PAGES = { report: "report.html", diff: "diff.html" } as const;

export interface Run {
  /** Name and version of the format. */
  schema: typeof RUN_SCHEMA;
  version: (typeof RUN_VERSIONS)[number];
  /** Version of memshade that recorded the run. */
  memshade: string;
  /** Program and arguments as typed. */
  command: string[];
  /** Short name of the program. */
  program: string;
  /** Settings of each tool that recorded the run. */
  tools: {
    heap?: HeapTool | undefined;
    waste?: ToolDescription | undefined;
    workingset?: ToolDescription | undefined;
    objects?: ToolDescription | undefined;
    cpu?: ToolDescription | undefined;
  };
  /** End of the program. */
  end: RunEnd;
  /** Modules or objects whose code ran, in the order of `index`. */
  modules: RunModule[];
  /** Figures of the heap; absent if no tool recorded it. */
  heap?: RunHeap | undefined;
  /** Host frames that called the modules; absent if they were not recorded. */
  host?: RunHost | undefined;
  /** Child processes with runs of their own; absent if children were not recorded. */
  children?: RunChild[] | undefined;
  /** Sentences about facts that no part of the profile covers. */
  notTracked: string[];
  /** Figures of the heap, or of all tools, that are not exact counts; absent: none are known to be inexact. */
  bounds?: Bound[] | undefined;
  /** Memory of the profiler, as far as known. */
  presence?: Presence | undefined;
  /** Names of the files beside this one; absent without such a file. */
  files: {
    heap?: string | undefined;
    heapIntervals?: string | undefined;
    waste?: string | undefined;
    workingset?: string | undefined;
    objects?: string | undefined;
    cpu?: string | undefined;
    statics?: string | undefined;
    retainers?: string | undefined;
    measured?: string | undefined;
  };
}

/**
 * Memory that the profiler used in the program's process, bytes: the parts that are the same in every run of one
 * program. Not included are its own code and thread, the engine's code for the rewritten modules, and the memory for
 * rewriting.
 */
export interface Presence {
  /**
   * Size of the rewritten modules. For modules that the loader read, whose new size is unknown, the original size
   * counts.
   */
  modules: number;
  /** Shadow memory and tables that were touched. */
  shadow: number;
  /** Recorded profile, as its files have it. */
  recorded: number;
  /** Limit of shadow memory and tables of native programs (`--memory-limit`). Recording ends at the limit. */
  limit?: number | undefined;
  /** Measurements of the process, if known: stored in `measured.json`, never in `run.json`. */
  process?: ProcessCost | undefined;
  /** Memory of a native program itself, also from `measured.json`. */
  memory?: ProcessMemory | undefined;
}

export const MEASURED_SCHEMA = "memshade-measured";
export const MEASURED_VERSION = 1;

/**
 * Cost of the whole process, program and profiler together, from its start until its profile was written. The figures
 * differ in every run, so they are in a file of their own, `measured.json`.
 */
export interface ProcessCost {
  /** Largest resident memory of the process, shared pages included. Bytes. */
  peakBytes: number;
  /** Processor time of all threads, user and system, ms. */
  processorMs: number;
  /** Part of the processor time for rewriting modules in the threads that requested it, ms. */
  rewritingMs: number;
  /** Part of the processor time for writing the files of the profile, ms. */
  profileMs: number;
  /** True if the program ran in other processes, those of a browser, and is not included. */
  profilerAlone?: boolean | undefined;
}

/** Content of `measured.json`: `memory` for native programs, `process` for others. */
export type Measured = Pick<Presence, "process" | "memory">;

/**
 * Memory of a native program, without shared memory but including the profiler's tables. It is sampled a hundred times
 * a second; the final figures are those of the last sample.
 */
export interface ProcessMemory {
  /** Resident at the end, and at most. Bytes. */
  residentBytes: number;
  peakBytes: number;
  /**
   * Figures of its allocator at exit (`mallinfo2` of the GNU C library). Absent if the allocator is not the GNU C library's, the program did not exit
   * normally, or a tool's code was in it.
   */
  allocator?: AllocatorMemory | undefined;
}

/** Bytes that an allocator holds from the system. */
export interface AllocatorMemory {
  /** Bytes held from the system. */
  heldBytes: number;
  /** Part of `heldBytes` that is in no block. */
  freeBytes: number;
  /** Part of `heldBytes` at the end of the heap, which could be returned to the system. */
  topBytes: number;
}

export interface HeapTool {
  /** Clock of lifetimes and timestamps. */
  clock: Clock;
  /**
   * Precision of access counts. "merged": accesses to one base address inside a basic block are added together, so
   * counts per block are exact but granules are not distinguished. "exact": every granule has its own count. "none":
   * accesses were not counted.
   */
  counters: CounterMode;
  /** Bytes per access counter: 8. */
  granuleBytes: number;
  /** True if accesses to the stack, or by the allocator, were counted. */
  includeStack: boolean;
  includeAllocator: boolean;
  /** True if memory that a native program maps itself counts as blocks too; absent: it does not. */
  mappings?: boolean | undefined;
  /**
   * True if the host declared exactly what it reads, so that blocks read by it are not unread; absent: it may have read
   * more.
   */
  knownHost?: boolean | undefined;
}

/** Settings of another tool, by name. */
export type ToolDescription = Readonly<Record<string, string | number | boolean>>;

export interface Clock {
  /** Kind: "virtual" advances with the program's work and repeats exactly, "wall" with real time. */
  kind: "virtual" | "wall";
  /** Unit of times: "allocations" or "ms". */
  unit: string;
}

export type CounterMode = "merged" | "exact" | "none";

/** Least distance, in bytes, of accesses that never share a merged counter. It is the precision of a counter's address. */
export const MERGED_BYTES = 64;

export interface RunEnd {
  /** Kind of the end. After a "dump", the program continued. "ended" means that the cause is unknown, as for a process that another one waits for. */
  kind: "exit" | "trap" | "exception" | "signal" | "dump" | "ended";
  /** Exit code, of an "exit". */
  exitCode?: number;
  /** Name of the signal, such as "SIGINT". */
  signal?: string;
  /** Message of a trap or an exception. */
  message?: string;
  /** True if recording ended before the program did, so that blocks live at that time may have been freed later. */
  isLater?: boolean | undefined;
}

export interface RunChild {
  /** Short name of the child, and its command. */
  program: string;
  command: string[];
  /** Allocated blocks, and their bytes; absent if blocks were not recorded. */
  allocations?: number | undefined;
  allocatedBytes?: number | undefined;
}

export interface RunModule {
  /** Position in the list. */
  index: number;
  /**
   * File name, or end of the address. A module that was compiled from bytes has its own name, or else the package or
   * script with the beginning of the build id (`hash-wasm#1f8ea2`), as have different modules of one name.
   */
  name: string;
  /** File of the module; null if unknown. */
  path?: string | null | undefined;
  /** Script that compiled the module, if no file is known to contain it. */
  script?: string | undefined;
  /** Build id, hexadecimal: the custom section `build_id`, or else the first 20 bytes of the file's SHA-256. */
  buildId: string;
  /** Size of the file. */
  bytes: number;
  /** Size of the code section's payload. */
  codeBytes: number;
  /** Number of instances. */
  instances: number;
  /** Some functions that the module exports, if no file is known to contain it. */
  exports?: string[] | undefined;
  /**
   * PC, hexadecimal with 0x, of the first byte of the module's code section payload, or of an object's first mapped
   * byte.
   */
  start: string;
  /**
   * Object of a native program; absent: a WebAssembly module. `address` is the address within the object of the first
   * mapped byte. `isUncounted` is true if it ran without access counting although other objects had it.
   */
  object?: { kind: "elf"; address: number; isUncounted?: boolean | undefined } | undefined;
  /** Allocator of the module. */
  allocator: RunAllocator;
  /** Functions on recorded stacks. */
  functions: RunFunction[];
  /**
   * Source positions of the code on recorded stacks, from the module's own debug information. Absent without
   * such.
   */
  places?: RunPlace[] | undefined;
  /** Stacks that created several instances, and how many of them are kept; absent if unknown. */
  instancesBy?: RunInstances[] | undefined;
  /**
   * Bytes of the module's stack that its host took in several calls and never gave back; absent if none are
   * known.
   */
  stackTakes?: RunStackTakes[] | undefined;
  /** Sentences, by tool, that explain why the tool recorded nothing of the module. */
  notRecorded?: Partial<Record<string, string>> | undefined;
  /**
   * Sentences about facts of the module that no tool, or the heap tool, covers; those of other tools are in their own
   * files.
   */
  notTracked: string[];
}

export interface RunInstances {
  /** JavaScript frames that created the instances, innermost first. */
  frames: RunHostFrame[];
  /** Thread number; 0 is the main thread. */
  thread: number;
  /** Instances created there. */
  made: number;
  /** Instances that were kept when the profile was taken, after a garbage collection of the host. */
  kept: number;
  /** Size of the memories of the kept instances. */
  keptBytes: number;
}

/** Calls of a module from one stack of the host, each of which lowered the module's stack pointer for good. */
export interface RunStackTakes {
  /** Called function; absent if exceptions left it. */
  function?: string | undefined;
  /** Innermost first; empty if the stack is unknown. */
  frames: RunHostFrame[];
  /** Calls in the instance that has most of them. */
  calls: number;
  /** Bytes that these calls took. */
  bytes: number;
  /** Size of the instance's stack. */
  stackBytes: number;
}

/** Bound on the code size of glue modules, which for example give a function a type and have no allocator. */
export const TRAMPOLINE_BYTES = 128;

/** Evidence for the allocator of a module, and its confirmation by the run. */
export interface RunAllocator {
  /** Evidence that the allocator was found by. */
  how: "names" | "exports" | "glue" | "wrapper" | "structure" | "option" | "none";
  /**
   * True if the run confirmed the allocator; null if nothing was allocated. Functions found by name must fit most
   * blocks, functions found by shape all of them.
   */
  confirmed?: boolean | null | undefined;
  /** Hooked functions: role (`malloc`, `free`, `rust_alloc` …), index and name. */
  functions: { role: string; index: number; name?: string | undefined }[];
  /** Reason, as a sentence, why figures of the heap are missing: the allocator is unknown or misbehaved. */
  refused?: string | undefined;
  /** True if the allocator was given up although some functions resemble one. */
  doubtful?: boolean | undefined;
  /** Functions that resemble allocators on top of it, each pair as the text of an `--allocator` option. */
  further?: string[] | undefined;
  /** Indices of [layers](concepts.md#own-code): functions whose result is always the block of a callee, with a size that their caller chooses. */
  layers?: number[] | undefined;
}

export interface RunFunction {
  /** Index in the original module; −1 represents calling contexts beyond the bounds. */
  index: number;
  /** Linker's name. */
  name?: string | undefined;
  /** Offsets of the body in the code section payload: first byte and byte after the last. */
  offset: number;
  end: number;
}

export interface RunPlace {
  /** Offset in the code section payload. */
  offset: number;
  /** Frames, innermost first: inlined functions, and the function into which they are inlined. */
  frames: RunPlaceFrame[];
}

export interface RunPlaceFrame {
  /** Linker's name of the function. */
  function?: string | undefined;
  /** Source position; lines and columns count from 1. */
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  /** Line on which the function begins. */
  startLine?: number | undefined;
  /** True if the function is declared to return untyped memory of a requested size. */
  handsOutMemory?: boolean | undefined;
  /** True if the line is that of an earlier position, because this one has none. */
  approximate?: boolean | undefined;
}

export interface RunHeap {
  /** Allocated blocks, and their requested bytes. Reallocations count as an allocation and a free. */
  allocations: number;
  allocatedBytes: number;
  /** Freed blocks. */
  frees: number;
  /** Live bytes and blocks at the moment of most bytes; several instances count as their sum. */
  peakBytes: number;
  peakBlocks: number;
  /** Live bytes and blocks at the end of the run. */
  liveBytes: number;
  liveBlocks: number;
  /** Accesses to live blocks. */
  heapAccesses: number;
  /** Counted accesses to other memory: static data, freed memory, the allocator's own. */
  otherAccesses: number;
  /** Part of `otherAccesses` between the first data segment and the heap; absent if this range is unknown. */
  staticAccesses?: number | undefined;
  /** Touched memory of the profiler itself. */
  profilerBytes: number;
  /**
   * Memory of modules in which blocks have been: bytes from the lowest block to the end of the highest. Absent for
   * native programs, and after a reset.
   */
  spanBytes?: number | undefined;
  /** Allocations that share one entry for lack of room (`contexts`), and allocations that were not followed (`blocks`). */
  overflow: { contexts: number; blocks: number };
  /** [Reachability](concepts.md#lost-or-still-reachable) of the live blocks; absent if it was not determined. */
  reach?: HeapReach | undefined;
  /** Growth at all sites; absent if the run did not follow it. */
  growth?: BlockGrowth | undefined;
  /** Capacity at all sites; absent if the run did not count it. */
  capacity?: BlockCapacity | undefined;
  /** Drag at all sites; absent if accesses were not counted. */
  keptAfterUse?: BlockDrag | undefined;
  /** Threads of native programs, in the order of their first allocations. */
  threads?: RunThreads[] | undefined;
  /** Sentences about facts that the heap's figures do not cover. */
  notTracked?: string[] | undefined;
  /**
   * Calling contexts, in the order of the raw profile. The file has them as columns: for each member a value per context, or `rows`, the
   * contexts that have the member (from 0), with their `values`.
   *
   * @columns
   */
  sites: RunSite[];
}

export interface RunThreads {
  /** Name of the threads, and their number. */
  name: string;
  threads: number;
  /** Allocated blocks, and their bytes. */
  allocations: number;
  allocatedBytes: number;
}

/**
 * Host code, JavaScript, that called the modules. Call paths of the heap continue into it by addresses in a segment of
 * the raw profile: frame n has the address `start` + 1 + n.
 */
export interface RunHost {
  /**
   * Sampling of entries. "sampled": frequent kinds of entries are sampled, rare ones are complete. "exact": all are
   * recorded.
   */
  mode: "sampled" | "exact";
  /** Start of the segment, hexadecimal with 0x. */
  start: string;
  /** Entries with allocations: those whose callers were recorded, and the others. */
  asked: number;
  leftOut: number;
  frames: RunHostFrame[];
}

export interface RunHostFrame {
  /** Name of the function. */
  name: string;
  /**
   * Path or address of the executed script; absent for the engine's own functions. Lines and columns count
   * from 1.
   */
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  /** True for a frame before an `await`, whose callers have continued meanwhile. */
  async?: boolean | undefined;
  /** Position in the original source, if the script was generated. */
  source?: { file: string; line: number; column: number; name?: string | undefined } | undefined;
  /** Name of the tool that generated the script to connect a module with its callers: "Emscripten". */
  glue?: string | undefined;
  /** Kind of placeholder: frames that were not requested, or unknown frames. */
  is?: "left-out" | "unknown" | undefined;
}

/**
 * Reachability of live blocks, by the pointers in the program's memory and its globals. A lost block has no pointer to
 * it, an indirectly lost one only pointers in lost blocks, a possibly lost one only addresses inside it. Absent fields
 * are 0, if reachability was determined at all.
 */
export interface RunReach {
  /** Lost, indirectly lost, possibly lost and still reachable blocks, and their bytes. */
  lostBytes?: number | undefined;
  lostBlocks?: number | undefined;
  indirectlyLostBytes?: number | undefined;
  indirectlyLostBlocks?: number | undefined;
  possiblyLostBytes?: number | undefined;
  possiblyLostBlocks?: number | undefined;
  stillReachableBytes?: number | undefined;
  stillReachableBlocks?: number | undefined;
  /** Indirectly lost blocks of any context that are lost through the lost blocks of this one. */
  behindLostBytes?: number | undefined;
  behindLostBlocks?: number | undefined;
  /** Blocks that are not still reachable and were allocated in the second half of the run, by its clock. */
  lateLostBlocks?: number | undefined;
  /** Still reachable blocks that were allocated in the second half of the run, by its clock. */
  lateReachableBlocks?: number | undefined;
  /**
   * Part of `lateReachableBlocks`, by estimate, without an access after the last observation, which is shortly before
   * the last allocation.
   */
  idleReachableBlocks?: number | undefined;
  /**
   * Part of `lateReachableBlocks` in contexts that had stopped allocating: the program continued for more than
   * five times the context's longest pause.
   */
  doneReachableBlocks?: number | undefined;
  /**
   * Indirectly lost part of the late blocks, by estimate, that was allocated in the first half of the run by its work.
   */
  settledLostBlocks?: number | undefined;
  /** Part of `behindLostBlocks` that was allocated in the second half of the run, by its clock. */
  lateBehindBlocks?: number | undefined;
}

export const REACH_FIELDS = [
  "lostBytes",
  "lostBlocks",
  "indirectlyLostBytes",
  "indirectlyLostBlocks",
  "possiblyLostBytes",
  "possiblyLostBlocks",
  "stillReachableBytes",
  "stillReachableBlocks",
  "behindLostBytes",
  "behindLostBlocks",
  "lateLostBlocks",
  "lateReachableBlocks",
  "idleReachableBlocks",
  "doneReachableBlocks",
  "settledLostBlocks",
  "lateBehindBlocks",
] as const satisfies readonly (keyof RunReach)[];

type OnlyOfContexts = `${"behind" | "late" | "idle" | "done" | "settled"}${string}`;
type ReachTotals = { [Key in keyof Omit<RunReach, OnlyOfContexts>]-?: number };

/** Reachability in the whole heap. Live blocks in none of the kinds were not examined. */
export interface HeapReach extends ReachTotals {
  /** Accesses to live blocks and static data shortly before the last allocation or after it. Absent: not recorded. */
  accessesAfter?: number | undefined;
  /** True if the host may hold the addresses of lost blocks. */
  hostMayHold: boolean;
}

/** Figures of one context that a MIB has no field for. */
export interface RunSite extends RunReach {
  /** Decimal key in the raw profile. */
  stackId: string;
  /** Live bytes and blocks at the end of the run. */
  liveBytes: number;
  liveBlocks: number;
  /** Bytes and blocks that were live when the whole heap was largest. */
  peakBytes: number;
  peakBlocks: number;
  /** Blocks that were neither read nor written, and their bytes. */
  neverAccessed: number;
  neverAccessedBytes: number;
  /** Blocks that were written but never read, and their bytes. */
  writtenNeverRead: number;
  writtenNeverReadBytes: number;
  /** Accessed granules, and all granules, of all blocks together. */
  granulesTouched: number;
  granules: number;
  /** Reallocations that ended in a block of this context. */
  reallocations: number;
  /** Blocks freed at most one allocation after their own. */
  temporary?: number | undefined;
  /** Sampling stage of the host's entry: one of 4 to the power of this was recorded. Absent: all were. */
  stage?: number | undefined;
  /** Number of entries of that stage with the context's innermost host stack; absent if `stage` is. */
  entries?: number | undefined;
  /** [Growth](concepts.md#growth); absent if no block grew. */
  growth?: BlockGrowth | undefined;
  /** Capacity; absent without used large blocks. */
  capacity?: BlockCapacity | undefined;
  /**
   * [Drag](concepts.md#drag); absent if no block was followed to its last access. `drag` of earlier versions is not
   * read.
   */
  keptAfterUse?: BlockDrag | undefined;
  /** Blocks freed through the host's collector; absent if there are none. */
  collected?: BlockCollection | undefined;
}

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
