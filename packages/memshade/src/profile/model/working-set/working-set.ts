import type { HostCode } from "../heap-profile.ts";
import type { NamedModule } from "../named-module.ts";

/**
 * Working set of a run over time, `workingset.json`, version 1. docs/tools/working-set.md explains each number.
 *
 * Like `run.json` the file has no dates and no process ids: in virtual time, two runs of a deterministic program give
 * the same bytes.
 */
export const WORKING_SET_SCHEMA = "memshade-working-set";
export const WORKING_SET_VERSION = 1;

/** Unit of intervals: accesses of the program, or nanoseconds of real or of processor time. */
export type TimeUnit = "accesses" | "wall" | "cpu";

/** Quantities per interval: 64-byte lines unless the name says otherwise. */
export const MEASURES = [
  "lines",
  "read",
  "written",
  "both",
  "pages4K",
  "pages64K",
  "stack",
  "static",
  "heap",
] as const;
export type Measure = (typeof MEASURES)[number];

export interface WorkingSetProfile {
  /** Name and version of the format. */
  schema: typeof WORKING_SET_SCHEMA;
  version: typeof WORKING_SET_VERSION;
  /** Version of memshade that recorded the run. */
  memshade: string;
  /** Program and arguments as typed. */
  command: string[];
  /** Short name of the program. */
  program: string;
  /** Bytes of a line: 64. */
  lineBytes: number;
  /** Unit of time: accesses, or nanoseconds of real (`wall`) or of processor time (`cpu`). */
  unit: TimeUnit;
  /** Settings of the tool. */
  options: WorkingSetOptionsRecord;
  /** Recorded modules. */
  modules: NamedModule[];
  /** Recorded instances of modules, in the order of their creation. */
  instances: InstanceWorkingSet[];
  /** Sentences about facts that the profile does not cover. */
  notTracked: string[];
}

export interface WorkingSetOptionsRecord {
  /** Length of the shortest interval at the start, in units. */
  interval: number;
  /** Most intervals that are stored. */
  maxIntervals: number;
  /** True if an access counts as within one line because of its alignment hint. */
  assumeAligned: boolean;
  /** True if first touches, touched bytes, or owners were recorded (`--who`). */
  firstTouch: boolean;
  fill: boolean;
  owners?: boolean | undefined;
  /** Settings of `--locality`. */
  locality?: LocalityOptionsRecord | undefined;
}

export interface LocalityOptionsRecord {
  /** Method of sampling. */
  method: "shards";
  /** Part of the lines that was sampled at the start. */
  rate: number;
  /** Size of the cache whose misses were counted by instruction. */
  cacheBytes: number;
}

/** Series at one time scale, in columns: one entry per interval. */
export interface WorkingSetLevel {
  /** Intervals of the finest scale in one of these: a power of 4. */
  factor: number;
  /** Start and end of each interval, in units. Intervals end at the first poll after they are due. */
  start: number[];
  end: number[];
  /** True if the run ended before the last interval was full. */
  lastIsPartial: boolean;
  /** Distinct lines or pages touched in each interval. Measures that were not recorded are missing. */
  counts: Partial<Record<Measure, number[]>>;
  /** Lines that were never touched before. */
  fresh: number[];
}

export interface InstanceWorkingSet {
  /** Index into `modules`. */
  module: number;
  /** Number over all instances of the run, from 0. */
  instance: number;
  /** Length of the run, in units. */
  duration: number;
  /**
   * True if code of the program was interrupted in the middle; absent: false. The affected interval of each scale (the
   * last one if the run ended there) may lack time, and may include lines that were not yet touched.
   */
  incomplete?: boolean | undefined;
  /** Length of a level-0 interval at the end, in units. */
  period: number;
  /** Snapshots taken, including merged ones. */
  snapshots: number;
  /** Size of the program's memory at the end, bytes. */
  memoryBytes: number;
  /** Memory of the profiler in use. */
  profilerBytes: number;
  /** Distinct lines or pages of the whole run. */
  total: Partial<Record<Measure, number>>;
  /** Time scales, the finest first, each four times as long as the one before. */
  levels: WorkingSetLevel[];
  /** Call stack at the end of each level-0 interval: index into `stacks`, −1 if unknown. */
  stackOf: number[];
  /** Stacks, innermost frame first. */
  stacks: StackFrame[][];
  /**
   * With `--who`: attribution by the contexts that touched lines first. In longer intervals, the first touch of the whole interval
   * counts.
   */
  firstTouch?: Attribution | undefined;
  /**
   * With `--who`: attribution by the blocks that contain the touched bytes. Each line is divided among them by its touched bytes, at
   * every scale.
   */
  owners?: Attribution | undefined;
  /** With `--who`: touched bytes. */
  fill?: LineFill | undefined;
  /** With `--locality`: followed references. */
  locality?: LocalityRecord | undefined;
}

export interface StackFrame {
  /** Index of the function in the original module. Functions of the host are numbered from 2^31 on. */
  function: number;
  /** Kind of host code, of a frame in JavaScript. */
  host?: HostCode | undefined;
  /** Offset of the call, or of the innermost instruction, in the original code section payload, if known. */
  offset?: number | undefined;
  /** Name of the function. */
  name?: string | undefined;
  /** Source position of the call, and the line on which the function begins. */
  file?: string | undefined;
  line?: number | undefined;
  startLine?: number | undefined;
  /** Function inlined at the position, to which the line belongs; undefined for the function itself. */
  inlined?: string | undefined;
  /** Name of the object that contains the code, in native programs. Only in reports. */
  module?: string | undefined;
  /** True if the function was inlined into the next frame's, in native programs. Only in reports. */
  isInlined?: true | undefined;
  /**
   * Name of the code's library; absent for the program's own code, and if libraries were not determined. Only in
   * reports.
   */
  library?: string | undefined;
}

/**
 * Owner of attributed lines: an instruction that touched them first, or a call that allocated (both in their calling
 * contexts), or other memory.
 *
 * - `code`: `stack` has the instruction or call and its callers.
 * - `host`: the host touched them outside of any call by the program.
 * - `stack`, `static`, `heap`: bytes of no block, by region; heap bytes are the allocator's own, or free.
 * - `mapping`: bytes of a file that the program maps.
 * - `unknown`: touched in an unknown context, or in a block with an unknown allocation site.
 */
export type AttributionKind = "code" | "host" | "stack" | "static" | "heap" | "mapping" | "unknown";

export interface AttributedContext {
  /** Kind of the owner. */
  kind: AttributionKind;
  /** Name of the object that owns the static data, or of the mapped file, if known. */
  of?: string | undefined;
  /** Frames, innermost first: at the instruction, or at the call that allocates. */
  stack: StackFrame[];
  /** Lines of the whole run. */
  total: number;
  /** Lines per level-0 interval: mean of all intervals, and largest. */
  mean: number;
  peak: number;
}

/** Time scale of an attribution; `factor` as in `WorkingSetLevel`. */
export interface AttributionLevel {
  /** Scale, as in `levels` of the instance. */
  factor: number;
  /** Per interval: (context, lines), most lines first. */
  intervals: [context: number, lines: number][][];
  /** Per interval: lines of the contexts that are not listed. */
  others: number[];
}

/** Lines of each interval by owner. The lines of one interval add up to its total. */
export interface Attribution {
  /** Contexts with most lines, in descending order. */
  contexts: AttributedContext[];
  /** Contexts that are not listed, and their lines of the whole run. */
  otherContexts: { contexts: number; total: number };
  /** Time scales. */
  levels: AttributionLevel[];
}

/** Distinct bytes touched: in each interval at the scales of `levels`, and in the whole run. */
export interface LineFill {
  /** Bytes in each interval, by scale. */
  levels: { factor: number; bytes: number[] }[];
  /** Bytes in the whole run. */
  total: number;
}

/** Locality of one reference stream. Values are lines, weights are references. */
export interface LocalityRecord {
  /** Method of sampling. */
  method: "shards";
  /** All references. */
  references: number;
  /** References that were followed: those to sampled lines. */
  sampled: number;
  /** Part of all lines that was sampled at the end. */
  rate: number;
  /** Weight of the first references to the sampled lines. */
  cold: number;
  /** Pairs (distance, weight) with distances scaled to the whole stream. Distances above 4096 are rounded to 1/32. */
  distances: [distance: number, weight: number][];
  /** Pairs (time, weight); times above 4096 are rounded to 1/32. */
  times: [time: number, weight: number][];
  /**
   * Positions of first references, and distances of last ones to the end, for the footprint curve; rounded like
   * `times`.
   */
  firsts: [position: number, weight: number][];
  lasts: [position: number, weight: number][];
  /** Sites with most misses at `sitesAtLines` lines of cache. */
  sites: LocalitySite[];
  /** Number of sites that are not listed, and their misses. */
  otherSites: { sites: number; misses: number };
  /** Size of the cache, in lines. */
  sitesAtLines: number;
}

/** Instruction. Figures are weights at the final rate: divide by it for estimates of the whole run. */
export interface LocalitySite {
  /** Frame; undefined for bulk instructions. */
  frame?: StackFrame | undefined;
  /** Source position. */
  file?: string | undefined;
  line?: number | undefined;
  /** References that were followed: in a sample, without those that are represented by others of the same block. */
  references: number;
  /** Misses in a fully associative LRU cache of `sitesAtLines` lines, including first references. */
  misses: number;
  /** First references to a line. */
  cold: number;
}
