import type { AllocatorDescription } from "../allocator/allocation-notes.ts";
import type { HostStacks } from "./heap-options.ts";
import type { SiteRuns } from "./waste/site-table.ts";

/** What can be woven into a module, alone or together. */
export const TOOL_NAMES = ["heap", "alloc", "waste", "workingset", "objects"] as const;
export type ToolName = (typeof TOOL_NAMES)[number];
/** Those that record blocks. */
export const BLOCK_TOOLS: readonly ToolName[] = ["heap", "alloc"];
/** The tools with a session of their own. `heap` and `alloc` share that of the heap profiler, which is always there. */
export type WovenToolName = Exclude<ToolName, "heap" | "alloc">;

/** What to record and how. Every field is optional; the defaults are the exact, deterministic profile. */
export interface InstrumentOptions {
  /** Tools to weave in. Default: the heap profiler alone. */
  tools?: readonly ToolName[];
  /** Name of the module for reports; a file name as a rule. */
  name?: string;
  /** Count every access at its own 8-byte granule instead of merging accesses with one base address. */
  exactHistogram?: boolean;
  /** Count accesses to the program's stack too. */
  includeStack?: boolean;
  /** Count the allocator's own accesses too. */
  includeAllocator?: boolean;
  /** The text of `--allocator`: `malloc=NAME|#INDEX,free=…`. */
  allocator?: string;
  /** The script that compiles it, where no file is known to have the module. */
  script?: string | undefined;
  /** Source text of the JavaScript glue, where the names of minified exports can be found. */
  glue?: string;
  /** Calling contexts kept in the module before they are handed out as a dump. Default 65,536. */
  maxContexts?: number;
  /** Live blocks that can be followed at the same time. Default 4 Mi (16 Mi where memory allows). */
  maxBlocks?: number;
  /** Give the shadow memory the `shared` flag so that another thread can read it while the program runs. */
  sharedShadow?: boolean;
  /**
   * Where instances may share their memory, let them share the shadow memory too: the module then imports it
   * (`memshade` `memory`), and blocks are followed across threads.
   */
  acrossThreads?: boolean;
  /**
   * Tables of a module that is followed already: a dynamic library without an allocator of its own imports its shadow
   * memory (`memshade` `memory`) and counts its accesses to that module's blocks.
   */
  beside?: ShadowLayout | undefined;
  /** Call paths go on with the JavaScript that entered the module, of a sample of its entries or of all. Default: off. */
  hostStacks?: HostStacks;
  /** Unit of lifetimes: allocations made so far (deterministic), or milliseconds. */
  clock?: "virtual" | "wall";
  /** A faster SHA-256 than the portable one, where the host has it. */
  sha256?: (bytes: Uint8Array) => Uint8Array;
  /** Tools of those asked for that are left out, and why. */
  leftOut?: NotRecorded | undefined;
  /** Only the access counters: no allocation records, no contexts. For measurements. */
  countersOnly?: boolean;
  /** What the waste tool records. */
  waste?: WasteOptions;
  /** What the working-set tool records. */
  workingset?: WorkingSetOptions;
  /** What the objects tool records. */
  objects?: ObjectsOptions;
  /** Nobody named tools: modules of which only the engine's objects can be recorded are given the objects tool alone. */
  chooseTool?: boolean | undefined;
}

/** Options of the objects tool. */
export interface ObjectsOptions {
  /** Count reads and writes of fields and elements too. Default: true. */
  fields?: boolean | undefined;
  /** Count allocations by their calling context. Default: true. */
  contexts?: boolean | undefined;
  /** Mean distance between objects whose survival is followed, bytes allocated. Default 512 KiB; 0: none are. */
  sampleBytes?: number | undefined;
  /** Size of references in the model of sizes: 4 (compressed, as in Chromium; the default) or 8 (as in Node). */
  references?: 4 | 8 | undefined;
}

/** Options of the waste tool. */
export interface WasteOptions {
  /** The most store sites that have a short id at a time; the others are followed more slowly. Default: 65,530. */
  mostIds?: number | undefined;
  /** Who overwrote, repeated and re-read what: precise mode, which keeps writers, readers and values per byte. */
  pairs?: boolean | undefined;
  /** Tell accesses apart by their calling context too. */
  contexts?: boolean | undefined;
  /** Count per allocation site and offset inside its blocks. */
  objects?: boolean | undefined;
  /** Count as the Valgrind tool deadstores does where it differs. */
  compat?: "deadstores" | undefined;
  /** How often the module's loads and stores ran before: those are followed inline that ran most. Results are the same. */
  siteRuns?: SiteRuns | undefined;
}

/** Options of the working-set tool. */
export interface WorkingSetOptions {
  /** What intervals are measured in: accesses (repeatable), or nanoseconds of real or processor time. */
  unit?: "accesses" | "wall" | "cpu";
  /** Length of the shortest interval at the start. Default: 1,000,000 accesses or 20 ms. */
  interval?: number;
  /** Most intervals kept, even: beyond them, neighbours are merged. Default 512. */
  maxIntervals?: number;
  /**
   * Take accesses to lie in one line where their alignment hint says so. Default: where intervals are of time and nothing
   * is told of whose the lines are.
   */
  assumeAligned?: boolean;
  /** Reuse distances and miss ratios too. */
  locality?: LocalityOptions | undefined;
  /** Whose the lines are. */
  attribution?: AttributionOptions | undefined;
}

/** What is told of the lines of each interval besides their number. */
export interface AttributionOptions {
  /** The calling contexts that touched them first. */
  firstTouch?: boolean | undefined;
  /** How many of their bytes were touched. */
  fill?: boolean | undefined;
  /** The allocation sites of the blocks in them. */
  owners?: boolean | undefined;
}

/** How reuse times and distances are measured, by references to a part of all lines (SHARDS). */
export interface LocalityOptions {
  /** Part of the lines that is sampled. Default 0.01. */
  rate?: number | undefined;
  /** Size of the cache whose misses are counted per instruction, bytes. Default 32 KiB. */
  cacheBytes?: number | undefined;
}

/** Where the slots of native programs are, and the chains of records of their large blocks. */
export interface NativeBlocks {
  /** Bits of an address in its part of the address space, its region and its slot. */
  readonly partBits: number;
  readonly regionBits: number;
  readonly slotBits: number;
  /** Address of the number of parts that have regions, and of a list of them: their numbers and where they are. */
  readonly partCount: number;
  readonly parts: number;
  /** Address of the index of the last bucket, and of the first bucket. */
  readonly lastBucket: number;
  readonly buckets: number;
}

/** Addresses of the tables inside the shadow memory, in bytes, and how many entries they hold. */
export interface ShadowLayout {
  /** Program memory covered by counters, bytes. */
  coveredBytes: number;
  slots: number;
  slotsEnd: number;
  marks: number;
  directory: number;
  /** How native programs find their blocks. */
  native?: NativeBlocks;
  control: number;
  /** Where the host's stacks are asked for. */
  hostEntries?: number;
  shapes: number;
  mibs: number;
  mibCapacity: number;
  /** What contexts were before their last change. */
  pasts: number;
  /** Last accesses: by context, and of the live blocks that are followed. */
  drags: number;
  followed: number;
  /** The heap over time: intervals, and what contexts did in each. */
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
  /** 0 where no histograms are kept. */
  histograms: number;
  histogramsEnd: number;
  /** Word below the stack that says where the stack has got to outside of the module. */
  hostWord: number;
  stack: number;
  /** Stacks and how far apart they are: one for each instance that shares the tables. */
  stackCount: number;
  stackDistance: number;
  /** Size of the shadow memory. */
  endBytes: number;
}

/** What a search for pointers to blocks begins with. Addresses are in bytes of the program's memory. */
export interface PointerRoots {
  /** Hidden export of the program's memory. */
  memory: string;
  /** Hidden exports of its globals that may hold addresses. */
  globals: readonly string[];
  /** That of its stack pointer, if it is known. */
  stackPointer?: string;
  /** The stack; both 0 where it is not known. */
  stackFrom: number;
  stackTo: number;
  /** Behind the last byte of the active data segments. */
  dataEnd: number;
  /** Beginnings and ends of what only the allocator knows by its address. */
  allocatorState: readonly number[];
}

/** Why tools record nothing of a module, a sentence each. */
export type NotRecorded = Partial<Record<ToolName, string>>;

/** Where the static data of a module lies in its memory; ends are exclusive. */
export interface StaticPlaces {
  start: number;
  /** Behind the last byte of the segments. */
  dataEnd: number;
  /** Where the heap begins, or more memory that may be static. */
  end: number;
  /** What the module writes itself before it begins. */
  written: readonly { readonly start: number; readonly end: number; readonly segment?: number | undefined }[];
  /** Addresses that functions name whose accesses are not counted. */
  uncounted: readonly number[];
}

/** What the instrumented module says of itself (custom section `memshade`, JSON). */
export interface InstrumentedInfo {
  version: 1;
  name: string;
  /** The script that compiled it, where no file is known to have it. */
  script?: string;
  /** Hexadecimal build id of the original module. */
  buildId: string;
  /** Size of the original module and of its code section payload, bytes. */
  originalBytes: number;
  /** Size of the instrumented one, where whoever made it is at hand: the section in it does not say. */
  rewrittenBytes?: number;
  codeBytes: number;
  tools: readonly ToolName[];
  counters: "merged" | "exact";
  granuleBytes: 8;
  clock: "virtual" | "wall";
  includeStack: boolean;
  includeAllocator: boolean;
  allocator: AllocatorDescription;
  /** Where the memory that is followed comes from, if it is imported. */
  memoryImport?: { module: string; field: string };
  /** The first name that it is exported by. */
  memoryExport?: string;
  /** The heap's call paths go on with the host's stacks; absent: they do not. */
  hostStacks?: HostStacks;
  /** Whether threads share the memory that is followed. */
  sharedMemory: boolean;
  /** Its addresses are 64-bit; absent: they are not. */
  memory64?: boolean;
  /** The host says exactly what it reads and writes; absent: it may do more. */
  knownHost?: boolean;
  layout: ShadowLayout | undefined;
  /** Where pointers to live blocks are looked for; a sentence where that would tell nothing. */
  roots?: PointerRoots | string;
  /** Where static data lies, if that is known and the heap's counters tell of it. */
  statics?: StaticPlaces;
  /** The shadow memory is imported, the same one by all instances that share their memory. */
  acrossThreads?: boolean;
  /** A dynamic library: it imports a shadow memory of this layout, that of the module whose memory it uses. */
  beside?: ShadowLayout;
  /** What the host must know to read the memories of the other tools, exported as `memshade.<tool>`. */
  toolLayouts?: Partial<Record<ToolName, Readonly<Record<string, number | string | boolean>>>>;
  /** Sentences: why tools that were asked for record nothing of the module. */
  notRecorded?: NotRecorded;
  /** Names of the exports that instrumentation added. */
  hiddenExports: string[];
  /**
   * Sentences: what no tool sees, and what the heap profile does not. Those of other tools are in their `toolLayouts` and in
   * `notRecorded`.
   */
  notTracked: string[];
}
