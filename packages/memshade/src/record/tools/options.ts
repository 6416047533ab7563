import type { AllocatorDescription } from "../allocator/allocation-notes.ts";
import type { HostStacks } from "./heap-options.ts";
import type { SiteRuns } from "./waste/site-table.ts";

/** Tools that can be inserted into a module, alone or together. */
export const TOOL_NAMES = ["heap", "alloc", "waste", "workingset", "objects"] as const;
export type ToolName = (typeof TOOL_NAMES)[number];
export const BLOCK_TOOLS: readonly ToolName[] = ["heap", "alloc"];
/**
 * Tools with a session of their own. `heap` and `alloc` share that of the heap profiler, which always exists.
 */
export type WovenToolName = Exclude<ToolName, "heap" | "alloc">;

/**
 * Options of instrumentation. Every field is optional; the defaults give the exact, deterministic profile.
 */
export interface InstrumentOptions {
  /** Tools to insert. Default: the heap profiler alone. */
  tools?: readonly ToolName[];
  /** Name of the module for reports, usually a file name. */
  name?: string;
  /** Count every access at its own 8-byte granule instead of merging accesses with one base address. */
  exactHistogram?: boolean;
  /** Count accesses to the program's stack too. */
  includeStack?: boolean;
  /** Count the allocator's own accesses too. */
  includeAllocator?: boolean;
  /** Text of `--allocator`: `malloc=NAME|#INDEX,free=…`. */
  allocator?: string;
  /** Script that compiles the module, if no file is known to contain it. */
  script?: string | undefined;
  /** Source text of the JavaScript glue, which maps names of minified exports. */
  glue?: string;
  /** Most calling contexts in the module before they are flushed as a dump. Default 65,536. */
  maxContexts?: number;
  /** Most live blocks that can be followed at the same time. Default 4 Mi (16 Mi if memory allows). */
  maxBlocks?: number;
  /** Give the shadow memory the `shared` flag, so that another thread can read it while the program runs. */
  sharedShadow?: boolean;
  /**
   * If instances may share their memory, let them share the shadow memory too. The module then imports it
   * (`memshade` `memory`), and blocks are followed across threads.
   */
  acrossThreads?: boolean;
  /**
   * Tables of another instrumented module. A dynamic library without an allocator of its own imports their
   * shadow memory (`memshade` `memory`) and counts its accesses to that module's blocks.
   */
  beside?: ShadowLayout | undefined;
  /**
   * Continue call paths with the JavaScript that entered the module, for a sample of its entries or for all.
   * Default: off.
   */
  hostStacks?: HostStacks;
  /** Unit of lifetimes: allocations made so far (deterministic), or milliseconds. */
  clock?: "virtual" | "wall";
  /** A faster SHA-256 than the portable one, if the host has it. */
  sha256?: (bytes: Uint8Array) => Uint8Array;
  /** Requested tools that are left out, with reasons. */
  leftOut?: NotRecorded | undefined;
  /** Insert access counters only: no allocation records, no contexts. For measurements. */
  countersOnly?: boolean;
  /** Options of the waste tool. */
  waste?: WasteOptions;
  /** Options of the working-set tool. */
  workingset?: WorkingSetOptions;
  /** Options of the objects tool. */
  objects?: ObjectsOptions;
  /**
   * No tools were named. A module without an allocator whose objects are in the engine's heap gets the
   * objects tool alone.
   */
  chooseTool?: boolean | undefined;
}

export interface ObjectsOptions {
  /** Count reads and writes of fields and elements too. Default: true. */
  fields?: boolean | undefined;
  /** Count allocations by their calling context. Default: true. */
  contexts?: boolean | undefined;
  /**
   * Mean distance between objects whose survival is followed, in bytes allocated. Default 512 KiB; 0: no
   * objects are followed.
   */
  sampleBytes?: number | undefined;
  /** Size of references in the model of sizes: 4 (compressed, as in Chromium; the default) or 8 (as in Node). */
  references?: 4 | 8 | undefined;
}

export interface WasteOptions {
  /** Most store sites with a short id at a time; the others are followed more slowly. Default: 65,530. */
  mostIds?: number | undefined;
  /** Precise mode: record writers, readers and values per byte, and so the pairs of stores and loads. */
  pairs?: boolean | undefined;
  /** Distinguish accesses by their calling context too. */
  contexts?: boolean | undefined;
  /** Count per allocation site and offset in its blocks. */
  objects?: boolean | undefined;
  /** Count like the Valgrind tool deadstores if results differ. */
  compat?: "deadstores" | undefined;
  /**
   * Executions of the module's loads and stores in an earlier run. The most frequent ones are followed
   * inline; results are the same.
   */
  siteRuns?: SiteRuns | undefined;
}

export interface WorkingSetOptions {
  /** Unit of intervals: accesses (repeatable), or nanoseconds of real or processor time. */
  unit?: "accesses" | "wall" | "cpu";
  /** Length of the shortest interval at the start. Default: 1,000,000 accesses or 20 ms. */
  interval?: number;
  /** Most intervals that are kept, an even number. Beyond that, neighbours are merged. Default 512. */
  maxIntervals?: number;
  /**
   * Take an access to lie in one line if its alignment hint says so. Default: only if intervals are measured
   * in time and owners of lines are not recorded.
   */
  assumeAligned?: boolean;
  /** Record reuse distances and miss ratios too. */
  locality?: LocalityOptions | undefined;
  /** Record owners of the lines. */
  attribution?: AttributionOptions | undefined;
}

export interface AttributionOptions {
  /** Record the calling contexts that touched them first. */
  firstTouch?: boolean | undefined;
  /** Record how many of their bytes were touched. */
  fill?: boolean | undefined;
  /** Record the allocation sites of the blocks in them. */
  owners?: boolean | undefined;
}

/** Options of reuse times and distances, by references to a sample of the lines (SHARDS). */
export interface LocalityOptions {
  /** Sampled share of the lines. Default 0.01. */
  rate?: number | undefined;
  /** Size of the cache whose misses are counted per instruction, bytes. Default 32 KiB. */
  cacheBytes?: number | undefined;
}

/** Positions of the slots of native programs, and of the chains of records of their large blocks. */
export interface NativeBlocks {
  /** Bits of an address within its part of the address space, its region and its slot. */
  readonly partBits: number;
  readonly regionBits: number;
  readonly slotBits: number;
  /**
   * Addresses of the number of parts that have regions, and of the list of these: number and position of
   * each.
   */
  readonly partCount: number;
  readonly parts: number;
  /** Addresses of the index of the last bucket, and of the first bucket. */
  readonly lastBucket: number;
  readonly buckets: number;
}

/** Address of the table, and the program's stack: its lowest address and its end. */
export interface StackTakesTable {
  readonly at: number;
  readonly start: number;
  readonly end: number;
}

/** Addresses of the tables in the shadow memory, in bytes, and their capacities. */
export interface ShadowLayout {
  /** Program memory covered by counters, bytes. */
  coveredBytes: number;
  slots: number;
  slotsEnd: number;
  marks: number;
  directory: number;
  /** Positions of blocks in native programs. */
  native?: NativeBlocks;
  control: number;
  /** State of the sampling of the host's stacks. */
  hostEntries?: number;
  /** Table of the host's takes of the program's stack. Absent if the host can take none or if they are not recorded. */
  stackTakes?: StackTakesTable;
  shapes: number;
  mibs: number;
  mibCapacity: number;
  /** Values of contexts before their last change. */
  pasts: number;
  /** Last accesses: by context, and of the live blocks that are followed. */
  drags: number;
  followed: number;
  /** Heap over time: intervals, and the changes of contexts in each. */
  intervals: number;
  changes: number;
  changeCapacity: number;
  growths: number;
  nodes: number;
  nodeCapacity: number;
  children: number;
  childCapacity: number;
  records: number;
  recordCapacity: number;
  /** 0 if no histograms are kept. */
  histograms: number;
  histogramsEnd: number;
  /** Word below the stack with the stack's height while the program is outside of the module. */
  hostWord: number;
  stack: number;
  /** Number of stacks and distance between them. Each instance that shares the tables has one. */
  stackCount: number;
  stackDistance: number;
  endBytes: number;
}

/** Start of the search for pointers to blocks. Addresses are in bytes of the program's memory. */
export interface PointerRoots {
  /** Hidden export of the program's memory. */
  memory: string;
  /** Hidden exports of its globals that may hold addresses. */
  globals: readonly string[];
  /** Hidden export of its stack pointer, if known. */
  stackPointer?: string;
  /** Address range of the stack; both 0 if unknown. */
  stackFrom: number;
  stackTo: number;
  /** Address after the last byte of the active data segments. */
  dataEnd: number;
  /** Starts and ends of data that only the allocator refers to by address. */
  allocatorState: readonly number[];
}

/** Reasons why tools record nothing of a module, a sentence each. */
export type NotRecorded = Partial<Record<ToolName, string>>;

/** Address range of a module's static data; ends are exclusive. */
export interface StaticPlaces {
  start: number;
  /** Address after the last byte of the segments. */
  dataEnd: number;
  /** Start of the heap, or of more memory that may be static. */
  end: number;
  /** Ranges that the module initializes itself at its start. */
  written: readonly { readonly start: number; readonly end: number; readonly segment?: number | undefined }[];
  /** Addresses that occur in functions whose accesses are not counted. */
  uncounted: readonly number[];
}

/** Description of an instrumented module (custom section `memshade`, JSON). */
export interface InstrumentedInfo {
  version: 1;
  name: string;
  /** Script that compiled it, if no file is known to contain it. */
  script?: string;
  /** Hexadecimal build id of the original module. */
  buildId: string;
  /** Sizes of the original module and of its code section payload, bytes. */
  originalBytes: number;
  /** Size of the instrumented module. Undefined if the description was read from the module's own section. */
  rewrittenBytes?: number;
  codeBytes: number;
  tools: readonly ToolName[];
  counters: "merged" | "exact";
  granuleBytes: 8;
  clock: "virtual" | "wall";
  includeStack: boolean;
  includeAllocator: boolean;
  allocator: AllocatorDescription;
  /** Import of the followed memory, if it is imported. */
  memoryImport?: { module: string; field: string };
  /** First name under which the followed memory is exported. */
  memoryExport?: string;
  /** Host stacks in the heap's call paths; absent if there are none. */
  hostStacks?: HostStacks;
  /** True if threads share the followed memory. */
  sharedMemory: boolean;
  /** True if its addresses are 64-bit. */
  memory64?: boolean;
  /** True if the host reports exactly what it reads and writes. */
  knownHost?: boolean;
  layout: ShadowLayout | undefined;
  /** Start of the search for pointers to live blocks, or a sentence why there is no search. */
  roots?: PointerRoots | string;
  /** Static data, if its addresses are known and the heap's counters cover it. */
  statics?: StaticPlaces;
  /** True if all instances that share their memory import one shadow memory. */
  acrossThreads?: boolean;
  /**
   * Layout of the imported shadow memory, for a dynamic library. It belongs to the module whose memory the
   * library uses.
   */
  beside?: ShadowLayout;
  /** Layouts of the other tools' memories, which are exported as `memshade.<tool>`. */
  toolLayouts?: Partial<Record<ToolName, Readonly<Record<string, number | string | boolean>>>>;
  /** Sentences: why requested tools record nothing of the module. */
  notRecorded?: NotRecorded;
  /** Names of the exports that instrumentation added. */
  hiddenExports: string[];
  /**
   * Sentences about code and data that no tool sees, and that the heap profile does not cover. Those of other
   * tools are in their `toolLayouts` and in `notRecorded`.
   */
  notTracked: string[];
}
