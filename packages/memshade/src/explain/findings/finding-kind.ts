import type {
  WasteBlocks,
  WasteFile,
  WasteLoad,
  WasteReallocations,
  WasteStore,
} from "../../profile/model/waste.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Partners, WasteFinding } from "./waste/waste-finding.ts";

/** A frame of a finding's location; unknown members are absent. */
export interface PlaceFrame {
  /** Demangled name, possibly with parameters. */
  readonly function?: string | undefined;
  /** Module name, if the function's name alone is ambiguous. */
  readonly module?: string | undefined;
  /** Source position; the line counts from 1. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  /** Column from 1; absent if the tool does not record it. */
  readonly column?: number | undefined;
  /**
   * True if the line is that of the nearest earlier instruction in the function, because this one has none.
   */
  readonly approximate?: boolean | undefined;
  /** Module × 2^32 + offset in its code section. */
  readonly address?: number | undefined;
}

/** Location of a finding: the program's own frame, then its callers, outwards; at least one frame. */
export interface FindingPlace {
  /** Own frame, then its callers. */
  readonly path: readonly PlaceFrame[];
  /** Library function that the own frame called. */
  readonly via?: PlaceFrame | undefined;
  /** True if the C library keeps the blocks for itself: only lost ones are a mistake of the program. */
  readonly isKeptByLibrary?: true | undefined;
  /** Lines of the same function that belong to the finding, too, such as those that make the parts of an object. */
  readonly furtherLines?: readonly number[] | undefined;
  /** True if callers of the location were sampled, so that its figures are estimates. */
  readonly isSampled?: true | undefined;
  /** Margins of error of sampled figures, at 95 % confidence. */
  readonly margins?: { readonly blocks: number; readonly bytes: number } | undefined;
}

/** Members of findings of all kinds. */
export interface Found<
  Kind extends string = string,
  Tool extends "heap" | "waste" | "objects" = "heap" | "waste" | "objects",
> {
  /** Glossary word. */
  readonly kind: Kind;
  /** Tool that recorded it. */
  readonly tool: Tool;
  /** Location. */
  readonly place: FindingPlace;
  /** Amount that is saved if the finding is fixed, in `unit`. */
  readonly amount: number;
  readonly unit: "bytes" | "blocks" | "accesses" | "calls";
  /**
   * Amount as a part, 0…1, of the program's total of that kind: bytes of the peak, allocated blocks, moved bytes.
   * Findings of all tools are ranked by it. Findings of kinds that every program has a little of begin at 0.05 (dead,
   * clear, silent, redundant, churn, unused, never-read, write-only, cold, unread-field, unread-objects, waiting), others
   * at 0.01; stack-leak has no least part.
   */
  readonly part: number;
  /** Action for this location; undefined for the advice of the kind. */
  readonly advice?: string;
}

/**
 * Words around a finding's location: `300 of 1,000 blocks of`, the location, `are never released`. With the
 * amount in front they form a sentence. The short forms take about thirty columns without the location.
 */
export interface FindingSentence {
  readonly before: string;
  readonly after: string;
  /** Replaces `before` if the location needs the space. */
  readonly short?: string | undefined;
  /** Replaces `after` if the location needs the space. */
  readonly shortAfter?: string | undefined;
}

/** Total that a finding's part refers to. */
export interface Whole {
  /** Text after a percentage: `of the peak`. */
  readonly short: string;
  /** Full description of amount and total. */
  readonly long: string;
}

export const OF_WORK: Whole = {
  short: "of all accesses",
  long: "the memory accesses that it takes, of those of the whole program",
};
export const OF_MOVED: Whole = {
  short: "of bytes moved",
  long: "of all bytes that the program moves; a load counts a quarter",
};
export const OF_ALLOCATED: Whole = { short: "of bytes allocated", long: "of all bytes allocated" };
export const OF_MOVED_OR_ALLOCATED: Whole = {
  short: "of all bytes",
  long: "of all bytes moved or allocated, whatever is more",
};
export const OF_OBJECTS: Whole = { short: "of objects' bytes", long: "of the bytes of all objects" };

/**
 * Least part of a reported finding. Two tests justify all thresholds: the planted problems of
 * test/findings/planted.ts must be among the first findings, and the sound programs of
 * test/findings/sound.long.test.ts must have none.
 */
export const LEAST_PART = 0.01;

/** Least part for waste that sound programs also have a little of, mostly from libraries and compilers. */
export const LEAST_COMMON_PART = 0.05;

/** Data that findings are derived from. "use": accesses to blocks. */
export type FindingSource = "heap" | "use" | "statics" | "waste" | "objects";

/** A kind of finding with all its rules. index.ts lists all kinds. */
export interface FindingKind<F extends Found = Found> {
  /** Glossary word. */
  readonly kind: F["kind"];
  /** True for a finding about lost blocks, which even a library does not keep. Absent if the kind has none. */
  findsLost?(finding: F): boolean;
  /** Synonyms. */
  readonly also?: readonly string[];
  /** Text of the glossary, at most two sentences. */
  readonly meaning: string;
  /** Action to take, as an imperative sentence that names its object. */
  readonly advice: string;
  /** Page below docs/ with more, and its heading. */
  readonly more?: string;

  /** Sources of the kind; a run needs one of them. */
  readonly sources: readonly FindingSource[];
  /** Searches the records of all tools except the waste tool. */
  find?(run: RecordedTools): F[];
  /** Searches the record of the waste tool. */
  readonly waste?: WasteKind<Omit<F, keyof Found>>;

  /** Least part of a reported finding. */
  readonly leastPart: number;
  /** True for a finding that stands behind those of other problems, however large its part is. */
  isLast?(finding: F): boolean;
  /**
   * Set for kinds that judge blocks as a whole. Only one such kind is reported for the blocks of a site.
   * `after`: the kind that causes this one. It is reported instead, and likewise the kind that causes it.
   */
  readonly ofBlocks?: { readonly after?: string };
  /** Returns locations whose blocks no other kind may judge, whether a finding is reported or not. */
  claims?(run: RecordedTools): FindingPlace[];
  /** Facts that add up if a line has several findings, beside the amount. Other facts are means or shares. */
  readonly sums?: readonly (keyof F & string)[];
  /** Fact that must be equal for findings to be added up. */
  readonly apart?: keyof F & string;
  /** True if two profiles can be compared by this kind although they recorded different data of blocks. */
  readonly isComparable?: true;

  sentence(finding: F): FindingSentence;
  /** Total that the part refers to. */
  readonly whole: Whole;
  /** Measure that shows the amount of a finding. */
  readonly weight: string;
  /** Measures that weigh the finding in a call tree; the first that the run has is used. */
  readonly treeWeights: readonly string[];
  /** True if the location is a variable, which has no call path. */
  readonly isOfVariable?: true;
}

/** Input of a search of the waste tool's record. */
export interface WasteSearch {
  readonly file: WasteFile;
  readonly partners: Partners;
  /** Sums up usually harmless waste. */
  readonly fold: (what: string, bytes: number) => void;
}

/** Bytes that a program moves, and bytes that it allocates. */
export interface WasteWholes {
  readonly moved: number;
  readonly allocated: number;
}

/** Rules of a kind that the waste tool finds. `Facts`: members of its findings beside those of all kinds. */
export interface WasteKind<Facts = object> {
  /** Each function searches one store, load, reallocating or allocating location. */
  ofStore?(store: WasteStore, index: number, search: WasteSearch): WasteFinding[];
  ofLoad?(load: WasteLoad, index: number, search: WasteSearch): WasteFinding[];
  ofReallocations?(site: WasteReallocations): WasteFinding[];
  ofBlocks?(site: WasteBlocks, search: WasteSearch): WasteFinding[];
  /**
   * True for findings about the code itself, reported only if most of its work is wasted. Other findings
   * belong to the code that allocates the blocks.
   */
  readonly isOfCode?: true;
  /** Returns the wasted bytes as a part of the total that they are compared with. */
  part(bytes: number, wholes: WasteWholes): number;
  facts(found: WasteFinding): Facts;
  /** False if another tool of the run has better data. */
  isReported?(run: RecordedTools): boolean;
  /** Describes the waste in full. */
  inWords(found: WasteFinding): string;
  /** Suggests an action for this location. */
  advice(found: WasteFinding): string;
  /** Parts of the tool's record that the page selects. */
  readonly rows: readonly ("stores" | "loads" | "blocks" | "reallocations")[];
  /** Class of the stores that allocate the selected blocks; these stores belong to the finding too. */
  readonly storesOfBlocks?: string;
  /** Replaces the kind's `whole`, if another tool finds the kind too. */
  readonly whole?: Whole;
  readonly weight?: string;
}
