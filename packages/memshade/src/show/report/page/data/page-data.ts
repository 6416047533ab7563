/**
 * What the report page shows, as the file carries it: plain values, and columns as typed arrays. Text is hostile everywhere: names,
 * paths and lines come from the program.
 *
 *     findings ──▶ contexts ──▶ frames ──▶ strings
 *     objects  ──▶    │ ▲ parent  └──▶ modules
 *     weights, deltas ─┘ └┘
 *
 * Bytes, blocks and accesses are numbers that add up. `-1` in a column of indices is none.
 */
export const PAGE_SCHEMA = "memshade-page";
/** Grows when the meaning of a member changes; new optional members do not count. */
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
  /** In the order in which they are offered; the first one is the one to begin with. */
  readonly weights: readonly PageWeight[];
  readonly ratios: readonly PageRatio[];
  /** At most one a tool, each with a clock of its own. */
  readonly timelines: readonly PageTimeline[];
  /** All of them, ranked as in the summary of `memshade report`. */
  readonly findings: readonly PageFinding[];
  readonly objects: readonly PageObject[];
  readonly histograms: readonly PageHistogram[];
  readonly statics: readonly PageVariable[];
  readonly cache?: PageCache | undefined;
  /** Sorted by path. */
  readonly sources: readonly PageSource[];
  /** Instructions of WebAssembly modules, by the line that they are of; absent: there are none. */
  readonly code?: readonly PageCode[] | undefined;
  /** How source lines came to be in the file: option `--html-sources`. */
  readonly sourcesKept: "all" | "lines" | "none";
}

export interface PageHead {
  /** Version of memshade that wrote the page. */
  readonly writtenBy: string;
  readonly program: string;
  /** Of a diff, the older one. */
  readonly before?: { readonly program: string } | undefined;
  readonly command?: string | undefined;
  /** How the program ended, in words: `exit 0`. */
  readonly ended?: string | undefined;
  /** What the head of the terminal's report says, in its order. */
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  /** Key numbers of the top row, at most six. */
  readonly keys: readonly PageKey[];
  /** Sentences: everything that was not tracked. First in Help. */
  readonly notTracked: readonly string[];
  /** Sentences that say what to do so that the page shows more: a tool that was not recorded, names that are missing. */
  readonly hints: readonly string[];
  /** Call paths that were merged below frames that are `others`, and how many contexts were kept at most. Absent: none. Of a diff, of both runs. */
  readonly merged?: { readonly contexts: number; readonly bound: number } | undefined;
}

export interface PageKey {
  readonly label: string;
  /** A word of the glossary that explains it. */
  readonly word: string;
  readonly value: number;
  readonly unit: PageUnit;
  /** Of a diff, what it was. */
  readonly before?: number | undefined;
  /** Behind the number: `in 120 blocks`. */
  readonly note?: string | undefined;
  /** The weight that it is the sum of, where there is one: a click chooses it. */
  readonly weight?: string | undefined;
}

/** "part" is 0…1. "clock" is the unit of the clock of its tool: see `PageTimeline.unit` and `PageWeight.clock`. */
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
  /** What its file tells of its code; absent where nobody looked. */
  readonly knows?: "lines" | "functions" | "nothing" | undefined;
}

/** Bits of `PageFrames.flags`. */
export const FRAME_FLAGS = {
  /** Inlined into the next outer frame. */
  inlined: 1,
  /** Code of a library, not the program's own: `library` says of which. */
  library: 2,
  /** Code of the host: JavaScript. */
  script: 4,
  /** Code that hands on what it asks the allocator for. */
  allocator: 8,
  /** Not a function: stands for all that was on merged call paths between the context above and their sites. One frame has it. */
  others: 16,
  /** The host called this function: the frame stands for the call, and its line is not one that ran. */
  fromHost: 32,
  /** Not a function: what no code is known of, such as `[static data]` or `[no call path]`. */
  notCode: 64,
} as const;

/** One row per frame; equal ones are there once. */
export interface PageFrames {
  readonly length: number;
  /** As people read it: `Tiles::load(int)`, or `func[12]` where there is no name. Index into `strings`. */
  readonly function: Int32Array;
  /** Index into `modules`, or −1. */
  readonly module: Int32Array;
  /** Index into `strings`, or −1. */
  readonly file: Int32Array;
  /** From 1; 0 where it is not known. */
  readonly line: Int32Array;
  readonly column: Int32Array;
  /** Offset in the module's code section, or the address; −1 where it is not known. */
  readonly address: Float64Array;
  readonly flags: Uint8Array;
  /** What library it is of, in words; index into `strings`, or −1. */
  readonly library: Int32Array;
}

/**
 * Calling contexts of all tools as one tree: a context is a frame called by the context before it. Outermost callers are roots. Parents
 * stand before their children.
 */
export interface PageContexts {
  readonly length: number;
  /** −1 for roots. `parent[i] < i`. */
  readonly parent: Int32Array;
  readonly frame: Int32Array;
  /** The context, itself or one of its callers, whose frame names the site: the program's own innermost one. −1: it has none. */
  readonly site: Int32Array;
  /** How many call paths were merged into each row. Absent: none, or nobody knows, in a diff. */
  readonly merged?: Int32Array | undefined;
}

/**
 * What goes through lines and files on merged call paths, beside what the contexts tell: these have no callers of merged ones. Only of those
 * lines and files of which something is missing in the contexts, and of whole runs.
 */
export interface PageThroughMerged {
  /** A frame of each line, and of each file. */
  readonly lines: Int32Array;
  readonly files: Int32Array;
  /** In the order of `lines` and of `files`; weights that are not there miss nothing. */
  readonly columns: readonly {
    readonly weight: string;
    readonly ofLines: Float64Array;
    readonly ofFiles: Float64Array;
  }[];
}

/** Numbers that add up: what each context has itself, without what it called. Its sum over all contexts is `total`. */
export interface PageWeight {
  /** Of a measure; of samples, the names of their values. */
  readonly id: string;
  /** For people: `bytes live at the end`. */
  readonly label: string;
  /** A word of the glossary. */
  readonly word: string;
  readonly unit: PageUnit;
  /** What its clock counts, where the unit is "clock": `allocations`, `accesses`, `ms`. */
  readonly clock?: string | undefined;
  readonly tool: PageTool;
  /** One a context. Of a diff, the newer run's. */
  readonly values: Float64Array;
  readonly total: number;
  /**
   * One a context: the standard deviation of its number, where callers in JavaScript were sampled. What one of these made is off together.
   * Absent: all was counted.
   */
  readonly deviations?: Float64Array | undefined;
  /** Of a diff only. */
  readonly before?: Float64Array | undefined;
  readonly totalBefore?: number | undefined;
  /** Sentence where the numbers are not what was counted: `at least`, spread by estimate, sampled. */
  readonly caution?: string | undefined;
}

/** What a table shows beside sums: one weight's sum by another one's. `accesses per byte`, `mean lifetime`. */
export interface PageRatio {
  readonly id: string;
  readonly label: string;
  readonly word: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** Ids of weights; `isRest`: what is missing to 1. */
  readonly of: string;
  readonly by: string;
  readonly isRest?: true | undefined;
}

/** What one tool recorded over time. Intervals are half open and follow each other without gaps. */
export interface PageTimeline {
  readonly tool: PageTool;
  /** What its clock counts. Clocks of two tools have no common time: a range is one of a timeline. */
  readonly unit: "allocations" | "accesses" | "bytes" | "ms" | "ns";
  /** Where the first interval begins. */
  readonly start: number;
  /** Where each interval ends. */
  readonly ends: Float64Array;
  /** Which instance of which module it is of, where there were several. */
  readonly of?: string | undefined;
  readonly lanes: readonly PageLane[];
  readonly phases: readonly PagePhase[];
  readonly deltas?: PageDeltas | undefined;
}

export interface PageLane {
  readonly id: string;
  /** `live heap`, `accesses`, `working set`. */
  readonly label: string;
  readonly word: string;
  readonly unit: PageUnit;
  /** "level": a state at the interval's end; "most": the most inside the interval; "amount": what happened in the interval; "used": what it used, which others may use too. */
  readonly shape: "level" | "most" | "amount" | "used";
  /** One an interval. */
  readonly values: Float64Array;
}

export interface PagePhase {
  /** `load`, or a number where no function names it. */
  readonly name: string;
  /** Intervals `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/**
 * Who did what when. Rows of interval `i` are `[offset[i], offset[i + 1])`. What is in no row was done by contexts that the record
 * leaves out: the lanes have it.
 */
export interface PageDeltas {
  /** One more than intervals. */
  readonly offset: Int32Array;
  readonly context: Int32Array;
  /**
   * One value a row. Heap: `bytes`, `blocks` (allocated), `freed` (bytes), `freedBlocks`; what is live at the end of an interval is
   * `begin` + allocated − freed. Working set: `owned`, `first-touch` (bytes of lines). Ids are those of weights, where there is such a weight.
   */
  readonly columns: readonly { readonly weight: string; readonly values: Float64Array }[];
  /** What was live when the first interval began; absent: nothing. */
  readonly begin?:
    | { readonly context: Int32Array; readonly bytes: Float64Array; readonly blocks: Float64Array }
    | undefined;
}

export interface PageFinding {
  /** A word of the glossary. */
  readonly kind: string;
  readonly tool: PageTool;
  readonly amount: number;
  readonly unit: PageUnit;
  /** 0…1, of all that the program has or does of that sort. */
  readonly part: number;
  /** Of what, beside the percentage, and at length. */
  readonly partOf: { readonly short: string; readonly long: string };
  /** The sentence of the summary. */
  readonly says: string;
  readonly advice?: string | undefined;
  /** Frames, the program's own first, then its callers outwards; at least one. Indices into `frames`. */
  readonly path: readonly number[];
  /** The library's function that the own frame called. Index into `frames`. */
  readonly via?: number | undefined;
  /** All contexts that it selects. May be empty: static data has none. */
  readonly contexts: Int32Array;
  /** Id of the weight that shows it: `left` for a leak. Absent where no weight does. */
  readonly weight?: string | undefined;
  /** Indices into `objects`. */
  readonly objects: readonly number[];
  /** Index into `statics`. */
  readonly variable?: number | undefined;
  /** What `--json` prints of it beside the members above: numbers and words. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Of a diff: whether only one of the runs has it. */
  readonly change?: "new" | "gone" | "kept" | undefined;
}

/** What happened inside the blocks of one site. */
export interface PageObject {
  readonly tool: PageTool;
  /** Contexts that allocated them. */
  readonly contexts: Int32Array;
  readonly blocks: number;
  readonly bytes: number;
  /** Bytes of the largest block; `varies`: not all had that. */
  readonly size: number;
  readonly varies: boolean;
  /** Type of what they hold, and how that was found (`BlockTypeRule`). */
  readonly type?: { readonly name: string; readonly size: number; readonly by: string } | undefined;
  /** Bytes of one element where blocks are arrays and cells are folded over it. */
  readonly period?: number | undefined;
  /** Rising by offset. */
  readonly cells: PageCells;
  /** The last cell stands for all bytes behind it too. */
  readonly tail?: boolean | undefined;
  /** Contexts whose stores are the dead bytes, most first. */
  readonly deadBy: readonly PageAccess[];
  /** Contexts that store to the blocks, and that load from them, most bytes first; absent where nobody knows. */
  readonly writtenBy?: readonly PageAccess[] | undefined;
  readonly readBy?: readonly PageAccess[] | undefined;
}

/** What a context stored to blocks, or loaded from them. */
export interface PageAccess {
  readonly context: number;
  readonly bytes: number;
}

/** Parts of a block, or of an element. Columns that were not recorded are absent; all others have `length` rows. */
export interface PageCells {
  readonly length: number;
  readonly offset: Float64Array;
  readonly size: Float64Array;
  /** Name and type of the member; index into `strings`, or −1. */
  readonly name: Int32Array;
  readonly type: Int32Array;
  /** Accesses, where reads and writes are not told apart. */
  readonly accesses?: Float64Array | undefined;
  readonly reads?: Float64Array | undefined;
  readonly writes?: Float64Array | undefined;
  /** Bytes. */
  readonly dead?: Float64Array | undefined;
  readonly silent?: Float64Array | undefined;
}

/** Blocks by size, lifetime or drag; of the whole run. */
export interface PageHistogram {
  readonly id: "size" | "lifetime" | "drag";
  readonly label: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** Bin `i` is `[from[i], from[i + 1])`; the last one is open. */
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
  /** Bytes that nobody accessed, and that nobody read. */
  readonly untouched?: number | undefined;
  readonly unread?: number | undefined;
}

export interface PageCache {
  readonly lineBytes: number;
  /** Part of all lines that was sampled, 0…1. */
  readonly rate: number;
  readonly references: number;
  /** Distinct lines of the run. */
  readonly lines: number;
  /** The curve: bytes of a cache, rising, and the part of references that it misses. */
  readonly bytes: Float64Array;
  readonly missRatio: Float64Array;
  /** Caches of real machines, smallest first. */
  readonly caches: readonly { readonly name: string; readonly bytes: number; readonly missRatio: number }[];
  /** The cache of which the weight `misses` tells. */
  readonly missesAt: number;
}

/** The instructions of one line, in the functions where it was measured. */
export interface PageCode {
  /** As frames name it: an entry of `strings`. */
  readonly file: number;
  readonly line: number;
  /** Offsets in the code section, rising; inlined copies of the line stand apart. */
  readonly address: Int32Array;
  /** In the text format: `i32.store offset=4`. */
  readonly text: readonly string[];
  /** Instructions that are left out. */
  readonly more?: number | undefined;
}

/** Lines of one file, as far as they are kept. */
export interface PageSource {
  /** As frames name it: an entry of `strings`. */
  readonly file: number;
  /** Rising, without overlaps. */
  readonly parts: readonly { readonly first: number; readonly lines: readonly string[] }[];
  /** The file was changed after the run. */
  readonly isNewer?: boolean | undefined;
}
