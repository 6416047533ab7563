/**
 * Data of the report page as stored in the file: plain values, and columns as typed arrays. All text is
 * untrusted: names, paths and lines come from the program.
 *
 *     findings ──▶ contexts ──▶ frames ──▶ strings
 *     objects  ──▶    │ ▲ parent  └──▶ modules
 *     weights, deltas ─┘ └┘
 *
 * Bytes, blocks and accesses are numbers that add up. An index of `-1` means none.
 */
export const PAGE_SCHEMA = "memshade-page";
/** Incremented when the meaning of a member changes; new optional members do not count. */
export const PAGE_VERSION = 1;

export interface PageData {
  readonly schema: typeof PAGE_SCHEMA;
  readonly version: number;
  readonly kind: "run" | "diff" | "samples";
  readonly head: PageHead;
  readonly strings: readonly string[];
  readonly modules: readonly PageModule[];
  readonly frames: PageFrames;
  readonly contexts: PageContexts;
  readonly throughMerged?: PageThroughMerged | undefined;
  /** Offered in this order; the first is selected at the start. */
  readonly weights: readonly PageWeight[];
  readonly ratios: readonly PageRatio[];
  /** Timelines, at most one per tool. Each has its own clock. */
  readonly timelines: readonly PageTimeline[];
  /** All findings, ranked as in the summary of `memshade report`. */
  readonly findings: readonly PageFinding[];
  readonly objects: readonly PageObject[];
  readonly histograms: readonly PageHistogram[];
  readonly statics: readonly PageVariable[];
  readonly cache?: PageCache | undefined;
  /** Sorted by path. */
  readonly sources: readonly PageSource[];
  /** Instructions of WebAssembly modules by source line; absent if there are none. */
  readonly code?: readonly PageCode[] | undefined;
  /** Value of option `--html-sources`. */
  readonly sourcesKept: "all" | "lines" | "none";
}

export interface PageHead {
  /** Version of memshade that wrote the page. */
  readonly writtenBy: string;
  readonly program: string;
  /** The older program of a diff. */
  readonly before?: { readonly program: string } | undefined;
  readonly command?: string | undefined;
  /** End of the program in words: `exit 0`. */
  readonly ended?: string | undefined;
  /** Head lines of the terminal's report, in its order. */
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  /** Key figures of the top row, at most six. */
  readonly keys: readonly PageKey[];
  /** Sentences about everything that was not tracked. Shown first in Help. */
  readonly notTracked: readonly string[];
  /**
   * Sentences that explain how to get more data onto the page: a tool that was not recorded, names that are
   * missing.
   */
  readonly hints: readonly string[];
  /**
   * Number of call paths merged below `others` frames, and the limit of kept contexts. Absent if none were
   * merged. For a diff, of both runs.
   */
  readonly merged?: { readonly contexts: number; readonly bound: number } | undefined;
}

export interface PageKey {
  readonly label: string;
  /** Glossary word that explains the figure. */
  readonly word: string;
  readonly value: number;
  readonly unit: PageUnit;
  /** Older value of a diff. */
  readonly before?: number | undefined;
  /** Text after the number: `in 120 blocks`. */
  readonly note?: string | undefined;
  /** Weight whose sum the figure is, if there is one: a click selects it. */
  readonly weight?: string | undefined;
}

/** "part" is 0…1. "clock" is the unit of the tool's clock: see `PageTimeline.unit` and `PageWeight.clock`. */
export type PageUnit =
  | "bytes"
  | "blocks"
  | "accesses"
  | "loads"
  | "stores"
  | "samples"
  | "count"
  | "part"
  | "calls"
  | "ns"
  | "clock";

export type PageTool = "heap" | "waste" | "workingset" | "objects" | "samples";

export interface PageModule {
  readonly name: string;
  readonly path?: string | undefined;
  readonly buildId?: string | undefined;
  /** Debug data of the module's file; absent if it was not searched. */
  readonly knows?: "lines" | "functions" | "nothing" | undefined;
}

/** Bits of `PageFrames.flags`. */
export const FRAME_FLAGS = {
  /** Inlined into the next outer frame. */
  inlined: 1,
  /** Code of a library, named by `library`. */
  library: 2,
  /** Code of the host: JavaScript. */
  script: 4,
  /** Code that passes requests on to the allocator. */
  allocator: 8,
  /**
   * Not a function: represents all merged call paths between the context above and their sites. Exactly one
   * frame has this flag.
   */
  others: 16,
  /** Function called by the host: the frame represents the call, and its line did not run. */
  fromHost: 32,
  /** Not a function: unknown code, such as `[static data]` or `[no call path]`. */
  notCode: 64,
} as const;

/** Frames without duplicates, one per row. */
export interface PageFrames {
  readonly length: number;
  /** Readable name: `Tiles::load(int)`, or `func[12]` if there is no name. Index into `strings`. */
  readonly function: Int32Array;
  /** Index into `modules`, or −1. */
  readonly module: Int32Array;
  /** Index into `strings`, or −1. */
  readonly file: Int32Array;
  /** Counts from 1; 0 if unknown. */
  readonly line: Int32Array;
  readonly column: Int32Array;
  /** Offset in the module's code section, or the address; −1 if unknown. */
  readonly address: Float64Array;
  readonly flags: Uint8Array;
  /** Name of the library; index into `strings`, or −1. */
  readonly library: Int32Array;
}

/**
 * Calling contexts of all tools as one tree: a context is a frame called by its parent context. Outermost
 * callers are roots. Parents precede their children.
 */
export interface PageContexts {
  readonly length: number;
  /** −1 for roots. `parent[i] < i`. */
  readonly parent: Int32Array;
  readonly frame: Int32Array;
  /**
   * Context (itself or a caller) whose frame names the site: the innermost of the program's own code. −1 for
   * none.
   */
  readonly site: Int32Array;
  /** Number of call paths merged into each row. Absent if there are none, or if unknown, as in a diff. */
  readonly merged?: Int32Array | undefined;
}

/**
 * Amounts of lines and files on merged call paths, beside those that the contexts show: merged contexts have
 * no callers. Only lines and files with missing amounts are listed. Whole runs only.
 */
export interface PageThroughMerged {
  /** Index of one frame of each line, and of each file. */
  readonly lines: Int32Array;
  readonly files: Int32Array;
  /** Columns in the order of `lines` and of `files`; weights without a column miss nothing. */
  readonly columns: readonly {
    readonly weight: string;
    readonly ofLines: Float64Array;
    readonly ofFiles: Float64Array;
  }[];
}

/** Numbers that add up: each context's own amount, callees excluded. `total` is the sum over all contexts. */
export interface PageWeight {
  /** Id of a measure; for samples, the name of a value type. */
  readonly id: string;
  /** Readable name: `bytes live at the end`. */
  readonly label: string;
  /** Glossary word. */
  readonly word: string;
  readonly unit: PageUnit;
  /** Clock unit, if the unit is "clock": `allocations`, `accesses`, `ms`. */
  readonly clock?: string | undefined;
  readonly tool: PageTool;
  /** Amounts by context. For a diff, amounts of the newer run. */
  readonly values: Float64Array;
  readonly total: number;
  /**
   * Standard deviation of each context's amount, if JavaScript callers were sampled. Errors of contexts with
   * the same sampled caller are correlated. Absent if everything was counted.
   */
  readonly deviations?: Float64Array | undefined;
  /** Diffs only. */
  readonly before?: Float64Array | undefined;
  readonly totalBefore?: number | undefined;
  /** Sentence for amounts that were not simply counted: lower bounds, estimates, samples. */
  readonly caution?: string | undefined;
}

/** Quotient of two weights' sums, as shown in tables: `accesses per byte`, `mean lifetime`. */
export interface PageRatio {
  readonly id: string;
  readonly label: string;
  readonly word: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** Ids of weights; `isRest`: the ratio is 1 minus the quotient. */
  readonly of: string;
  readonly by: string;
  readonly isRest?: true | undefined;
}

/** Record of one tool over time. Intervals are half open and contiguous. */
export interface PageTimeline {
  readonly tool: PageTool;
  /** Unit of the clock. Clocks of two tools are not comparable, so a range belongs to one timeline. */
  readonly unit: "allocations" | "accesses" | "bytes" | "ms" | "ns";
  /** Begin of the first interval. */
  readonly start: number;
  /** End of each interval. */
  readonly ends: Float64Array;
  /** Name of module and instance, if there are several. */
  readonly of?: string | undefined;
  readonly lanes: readonly PageLane[];
  readonly phases: readonly PagePhase[];
  readonly deltas?: PageDeltas | undefined;
}

export interface PageLane {
  readonly id: string;
  /** Readable name: `live heap`, `accesses`, `working set`. */
  readonly label: string;
  readonly word: string;
  readonly unit: PageUnit;
  /**
   * "level": state at the interval's end. "most": maximum within the interval. "amount": sum over the
   * interval. "used": memory used in the interval; other intervals may use the same.
   */
  readonly shape: "level" | "most" | "amount" | "used";
  /** Values by interval. */
  readonly values: Float64Array;
}

export interface PagePhase {
  /** Name such as `load`, or a number if no function names the phase. */
  readonly name: string;
  /** Intervals `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/**
 * Amounts by context and interval. Rows of interval `i` are `[offset[i], offset[i + 1])`. Contexts that were
 * not recorded have no rows, but the lanes include them.
 */
export interface PageDeltas {
  /** Length: number of intervals + 1. */
  readonly offset: Int32Array;
  readonly context: Int32Array;
  /**
   * Amounts by row. Heap: `bytes`, `blocks` (allocated), `freed` (bytes), `freedBlocks`; live at the end of an interval is
   * `begin` + allocated − freed. Working set: `owned`, `first-touch` (bytes of lines). Ids are those of weights, if there is
   * such a weight.
   */
  readonly columns: readonly { readonly weight: string; readonly values: Float64Array }[];
  /** Live amounts at the begin of the first interval; absent if nothing was live. */
  readonly begin?:
    | { readonly context: Int32Array; readonly bytes: Float64Array; readonly blocks: Float64Array }
    | undefined;
}

export interface PageFinding {
  /** Glossary word. */
  readonly kind: string;
  readonly tool: PageTool;
  readonly amount: number;
  readonly unit: PageUnit;
  /** Margin of error of the amount at 95 % confidence, if JavaScript callers were sampled; 0 if it is unknown. */
  readonly margin?: number | undefined;
  /** Share 0…1 of the program's total of this kind. */
  readonly part: number;
  /** Total that `part` refers to: short after the percentage, and in full. */
  readonly partOf: { readonly short: string; readonly long: string };
  /** Sentence of the summary. */
  readonly says: string;
  readonly advice?: string | undefined;
  /** Frames, the program's own first, then its callers outwards; at least one. Indices into `frames`. */
  readonly path: readonly number[];
  /** Library function that the own frame called. Index into `frames`. */
  readonly via?: number | undefined;
  /** All contexts that the finding selects. Empty for static data. */
  readonly contexts: Int32Array;
  /** Id of the weight that shows the finding: `left` for a leak. Absent if no weight does. */
  readonly weight?: string | undefined;
  /** Indices into `objects`. */
  readonly objects: readonly number[];
  /** Index into `statics`. */
  readonly variable?: number | undefined;
  /** Members that `--json` prints in addition: numbers and words. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Diffs only: runs that have the finding. */
  readonly change?: "new" | "gone" | "kept" | undefined;
}

/** Accesses inside the blocks of one site. */
export interface PageObject {
  readonly tool: PageTool;
  /** Contexts that allocated the blocks. */
  readonly contexts: Int32Array;
  readonly blocks: number;
  readonly bytes: number;
  /** Bytes of the largest block; `varies`: true if other sizes occur. */
  readonly size: number;
  readonly varies: boolean;
  /** Type of the content, and the rule that found it (`BlockTypeRule`). */
  readonly type?: { readonly name: string; readonly size: number; readonly by: string } | undefined;
  /** Bytes of one element, if blocks are arrays and cells are folded to one element. */
  readonly period?: number | undefined;
  /** Ascending by offset. */
  readonly cells: PageCells;
  /** True if the last cell includes all bytes after it. */
  readonly tail?: boolean | undefined;
  /** Contexts whose stores are dead, most bytes first. */
  readonly deadBy: readonly PageAccess[];
  /** Contexts that store to the blocks, and that load from them, most bytes first; absent if not recorded. */
  readonly writtenBy?: readonly PageAccess[] | undefined;
  readonly readBy?: readonly PageAccess[] | undefined;
}

/** Bytes that a context stored to blocks or loaded from them. */
export interface PageAccess {
  readonly context: number;
  readonly bytes: number;
}

/**
 * Cells of a block or of an element. Columns that were not recorded are absent; the others have `length`
 * rows.
 */
export interface PageCells {
  readonly length: number;
  readonly offset: Float64Array;
  readonly size: Float64Array;
  /** Name and type of the member; index into `strings`, or −1. */
  readonly name: Int32Array;
  readonly type: Int32Array;
  /** Accesses, if reads and writes were not counted separately. */
  readonly accesses?: Float64Array | undefined;
  readonly reads?: Float64Array | undefined;
  readonly writes?: Float64Array | undefined;
  /** Bytes. */
  readonly dead?: Float64Array | undefined;
  readonly silent?: Float64Array | undefined;
}

/** Blocks by size, lifetime or drag, for the whole run. */
export interface PageHistogram {
  readonly id: "size" | "lifetime" | "drag";
  readonly label: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** Bin `i` is `[from[i], from[i + 1])`; the last bin is open. */
  readonly from: Float64Array;
  readonly blocks: Float64Array;
  readonly bytes?: Float64Array | undefined;
}

/** A variable or other piece of static data. */
export interface PageVariable {
  readonly name: string;
  /** Index into `modules`, or −1. */
  readonly module: number;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly bytes: number;
  readonly accesses?: number | undefined;
  readonly reads?: number | undefined;
  readonly writes?: number | undefined;
  /** Bytes that were never accessed, and bytes that were never read. */
  readonly untouched?: number | undefined;
  readonly unread?: number | undefined;
}

export interface PageCache {
  readonly lineBytes: number;
  /** Sampled part of all lines, 0…1. */
  readonly rate: number;
  readonly references: number;
  /** Distinct lines of the run. */
  readonly lines: number;
  /** Miss-ratio curve: cache sizes in bytes, ascending, and the part of references that miss. */
  readonly bytes: Float64Array;
  readonly missRatio: Float64Array;
  /** Caches of real machines, smallest first. */
  readonly caches: readonly { readonly name: string; readonly bytes: number; readonly missRatio: number }[];
  /** Size of the cache that the weight `misses` refers to. */
  readonly missesAt: number;
}

/** Instructions of one line, in the functions in which it was measured. */
export interface PageCode {
  /** File as named by frames: an entry of `strings`. */
  readonly file: number;
  readonly line: number;
  /** Offsets in the code section, ascending; inlined copies of the line are separate. */
  readonly address: Int32Array;
  /** Text format: `i32.store offset=4`. */
  readonly text: readonly string[];
  /** Number of instructions left out. */
  readonly more?: number | undefined;
}

/** Stored lines of one file. */
export interface PageSource {
  /** File as named by frames: an entry of `strings`. */
  readonly file: number;
  /** Ascending, without overlaps. */
  readonly parts: readonly { readonly first: number; readonly lines: readonly string[] }[];
  /** True if the file was changed after the run. */
  readonly isNewer?: boolean | undefined;
}
