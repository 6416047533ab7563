import type { HostCode } from "../heap-profile.ts";
import type { NamedModule } from "../named-module.ts";

/**
 * The working set of a run over time, `workingset.json`, version 1. docs/tools/working-set.md says what each number means.
 *
 * Like `run.json` it has no dates and no process ids: in virtual time, two runs of a deterministic program give the same
 * bytes.
 */
export const WORKING_SET_SCHEMA = "memshade-working-set";
export const WORKING_SET_VERSION = 1;

/** What intervals are measured in: accesses of the program, or nanoseconds of real or of processor time. */
export type TimeUnit = "accesses" | "wall" | "cpu";

/** What is counted per interval: 64-byte lines if nothing else is said. */
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
  schema: typeof WORKING_SET_SCHEMA;
  version: typeof WORKING_SET_VERSION;
  memshade: string;
  command: string[];
  program: string;
  lineBytes: number;
  unit: TimeUnit;
  options: WorkingSetOptionsRecord;
  modules: NamedModule[];
  /** One for each instance of a module that was followed, in the order of their beginnings. */
  instances: InstanceWorkingSet[];
  notTracked: string[];
}

/** The options that change what the numbers mean. */
export interface WorkingSetOptionsRecord {
  /** Length of the shortest interval at the start, in units. */
  interval: number;
  maxIntervals: number;
  /** Accesses are taken to lie in one line where their alignment hint says so. */
  assumeAligned: boolean;
  firstTouch: boolean;
  fill: boolean;
  owners?: boolean | undefined;
  locality?: LocalityOptionsRecord | undefined;
}

export interface LocalityOptionsRecord {
  method: "shards";
  /** Part of all lines that was sampled. */
  rate: number;
  /** Cache whose misses are counted per instruction. */
  cacheBytes: number;
}

/** A series at one time scale, in columns: one entry per interval. */
export interface WorkingSetLevel {
  /** Intervals of the finest scale in one of these: a power of 4. */
  factor: number;
  /** Where each interval begins and ends, in units. Intervals end at the first poll after they are due. */
  start: number[];
  end: number[];
  /** Whether the run ended before the last interval was full. */
  lastIsPartial: boolean;
  /** Distinct lines or pages touched in each interval. Measures that were not taken are missing. */
  counts: Partial<Record<Measure, number[]>>;
  /** Lines that had never been touched before. */
  fresh: number[];
}

export interface InstanceWorkingSet {
  /** Index into `modules`. */
  module: number;
  /** Counts from 0 over all instances of the run. */
  instance: number;
  /** Units that passed. */
  duration: number;
  /**
   * Something stopped code of the program in the middle: the interval of each scale in which that was, the last one where it ended
   * the run, may lack time, and may have lines that were about to be touched. Absent: false.
   */
  incomplete?: boolean | undefined;
  /** Length of a level-0 interval at the end, in units. */
  period: number;
  /** Snapshots taken, merged ones included. */
  snapshots: number;
  /** Size of the program's memory at the end, bytes. */
  memoryBytes: number;
  /** Memory of the profiler that was touched, bytes. */
  profilerBytes: number;
  /** Distinct lines and pages of the whole run. */
  total: Partial<Record<Measure, number>>;
  levels: WorkingSetLevel[];
  /** Call stack at the end of each level-0 interval: index into `stacks`, −1 if it is not known. */
  stackOf: number[];
  stacks: StackFrame[][];
  /** By the contexts that touched lines first; in longer intervals too, those of the whole of them. */
  firstTouch?: Attribution | undefined;
  /**
   * By the blocks that the bytes touched are in: each line is divided among them by the bytes of it that the interval touched,
   * at every scale.
   */
  owners?: Attribution | undefined;
  fill?: LineFill | undefined;
  locality?: LocalityRecord | undefined;
}

/** A place on a call stack, innermost first. */
export interface StackFrame {
  /** Index of the function in the original module. Functions of the host have numbers of their own, from 2^31 on. */
  function: number;
  /** What code of the host it is; undefined for that of modules. */
  host?: HostCode | undefined;
  /** Offset of the call in the original code section payload, if it is known. */
  offset?: number | undefined;
  name?: string | undefined;
  /** Place of the call in the source, if it is known. */
  file?: string | undefined;
  line?: number | undefined;
  /** First line of the function, where that is known. */
  startLine?: number | undefined;
  /** The function that is inlined there, which the line is of; undefined for the function itself. */
  inlined?: string | undefined;
  /** Name of the file that has its code, of native programs. Never in the file. */
  module?: string | undefined;
  /** Its function was inlined into the next frame's, in native programs. Never in the file. */
  isInlined?: true | undefined;
  /** What library its code is of, in words; undefined for the program's own, and where nobody asked. Never in the file. */
  library?: string | undefined;
}

/**
 * What lines are attributed to: an instruction that touched them first, or a call that allocated (both in their calling
 * contexts), and what is neither.
 *
 * - `code`: `stack` has the instruction or call and its callers.
 * - `host`: the host touched them outside of any call that the program made.
 * - `stack`, `static`, `heap`: bytes of no block, by where they lie; the heap's are the allocator's own, or free.
 * - `mapping`: bytes of a file that the program maps.
 * - `unknown`: touched where no context is known; a block of which nobody knows who asked for it.
 */
export type AttributionKind = "code" | "host" | "stack" | "static" | "heap" | "mapping" | "unknown";

export interface AttributedContext {
  kind: AttributionKind;
  /** Name of the object whose static data it is, or of the mapped file, where that is known. */
  of?: string | undefined;
  stack: StackFrame[];
  /** Lines of the whole run. */
  total: number;
  /** Lines per level-0 interval: mean of all intervals, and largest. */
  mean: number;
  peak: number;
}

/** One time scale of an attribution; `factor` as in `WorkingSetLevel`. */
export interface AttributionLevel {
  factor: number;
  /** Per interval: (context, lines), most lines first. */
  intervals: [context: number, lines: number][][];
  /** Per interval: lines of the contexts that are not listed. */
  others: number[];
}

/** Whom the lines of each interval are charged to. The lines of one interval add up to the number of its lines. */
export interface Attribution {
  /** Those with most lines, most of them first. */
  contexts: AttributedContext[];
  /** Contexts that are not listed, and their lines of the whole run. */
  otherContexts: { contexts: number; total: number };
  levels: AttributionLevel[];
}

/** Distinct bytes touched: in each interval at the scales of `levels`, and in the whole run. */
export interface LineFill {
  levels: { factor: number; bytes: number[] }[];
  total: number;
}

/** What locality tells of one reference stream. Values are lines, weights are references. */
export interface LocalityRecord {
  method: "shards";
  references: number;
  /** References that were followed: those to sampled lines. */
  sampled: number;
  /** Part of all lines that was sampled. */
  rate: number;
  cold: number;
  /** (distance, weight) with distances scaled to the whole stream. Distances above 4096 are rounded to 1/32. */
  distances: [distance: number, weight: number][];
  /** (time, weight); times above 4096 are rounded to 1/32. */
  times: [time: number, weight: number][];
  /** Positions of first references and distances of last ones to the end, for the footprint curve; as `times`. */
  firsts: [position: number, weight: number][];
  lasts: [position: number, weight: number][];
  /** Sites that pay most at `sitesAtLines` lines of cache. */
  sites: LocalitySite[];
  /** Sites that are not listed, and their misses. */
  otherSites: { sites: number; misses: number };
  sitesAtLines: number;
}

/** An instruction. Figures are weights at the final rate: divide by it for estimates of the whole run. */
export interface LocalitySite {
  /** Undefined: bulk instructions. */
  frame?: StackFrame | undefined;
  file?: string | undefined;
  line?: number | undefined;
  /** References that were followed: of a sample, without those that others of the same block stand for. */
  references: number;
  /** In a fully associative LRU cache of `sitesAtLines` lines, first references included. */
  misses: number;
  cold: number;
}
