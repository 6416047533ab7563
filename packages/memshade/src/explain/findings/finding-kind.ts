import type {
  WasteBlocks,
  WasteFile,
  WasteLoad,
  WasteReallocations,
  WasteStore,
} from "../../profile/model/waste.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Partners, WasteFinding } from "./waste/waste-finding.ts";

/** A frame of a place, as far as it is known. */
export interface PlaceFrame {
  /** As demanglers write it, with whatever parameters. */
  readonly function?: string | undefined;
  /** Where the function's name alone would not tell it from those of other modules. */
  readonly module?: string | undefined;
  readonly file?: string | undefined;
  /** From 1. */
  readonly line?: number | undefined;
  /** The line is that of the nearest earlier place in the function: this one has none. */
  readonly approximate?: boolean | undefined;
  /** Module × 2^32 + offset in its code section. */
  readonly address?: number | undefined;
}

/** Where a finding is: the program's own frame, then its callers, outwards; at least one frame. */
export interface FindingPlace {
  readonly path: readonly PlaceFrame[];
  /** The function of a library that the own frame called there. */
  readonly via?: PlaceFrame | undefined;
  /** Callers of the place were sampled, so that its figures are estimates. */
  readonly isSampled?: true | undefined;
  /** By how much they may be off for that, 19 times of 20 by no more. */
  readonly margins?: { readonly blocks: number; readonly bytes: number } | undefined;
}

/** The facts that findings of all kinds have. */
export interface Found<
  Kind extends string = string,
  Tool extends "heap" | "waste" | "objects" = "heap" | "waste" | "objects",
> {
  /** A word of the glossary. */
  readonly kind: Kind;
  readonly tool: Tool;
  readonly place: FindingPlace;
  /** What goes if the finding is mended. */
  readonly amount: number;
  readonly unit: "bytes" | "blocks" | "accesses" | "calls";
  /**
   * The amount as a part, 0…1, of all that the program has or does of that sort: of the bytes of its peak, of the blocks that it
   * allocates, of the bytes that it moves. Findings of all tools are ranked by it.
   */
  readonly part: number;
  /** Action for this very place; without it the advice of the kind holds. */
  readonly advice?: string;
}

/**
 * Words around a finding's place: `300 of 1,000 blocks of`, the place, `are never released`. With the amount in front they are a
 * sentence. With the short forms, all words but the place take about thirty columns.
 */
export interface FindingSentence {
  readonly before: string;
  readonly after: string;
  /** Instead of `before` where the place needs the room. */
  readonly short?: string | undefined;
  /** Instead of `after` where the place needs the room. */
  readonly shortAfter?: string | undefined;
}

/** Quantity that a finding's part is a part of. */
export interface Whole {
  /** Beside a percentage: `of the peak`. */
  readonly short: string;
  /** What is compared with what. */
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
 * Least part of a finding that is reported. The planted problems of test/findings/planted.ts are to be among the first findings of
 * their programs, and the sound programs of test/findings/sound.long.test.ts are to have none: these two hold all thresholds.
 */
export const LEAST_PART = 0.01;

/** Least part of what sound programs have or do a little of, their libraries and compiler not least: there it takes more. */
export const LEAST_COMMON_PART = 0.05;

/** Data that findings are made of. "use": accesses to blocks. */
export type FindingSource = "heap" | "use" | "statics" | "waste" | "objects";

/** A kind of finding, with everything that is particular to it. index.ts lists all kinds. */
export interface FindingKind<F extends Found = Found> {
  /** A word of the glossary. */
  readonly kind: F["kind"];
  /** Other words for it. */
  readonly also?: readonly string[];
  /** One or two sentences: the glossary's text. */
  readonly meaning: string;
  /** Action to take, as an imperative sentence that names its object. */
  readonly advice: string;
  /** Page below docs/ with more, and its heading. */
  readonly more?: string;

  /** A run needs one of them. */
  readonly sources: readonly FindingSource[];
  /** Searches what a run recorded, but for what the waste tool recorded. */
  find?(run: RecordedTools): F[];
  /** Searches what the waste tool recorded. */
  readonly waste?: WasteKind<Omit<F, keyof Found>>;

  /** A finding is reported from this part on. */
  readonly leastPart: number;
  /**
   * Set where the kind judges blocks as such. Only one such kind is reported for the blocks of a place. `after`: a kind that is the
   * reason why this one holds too. It is reported instead, and so is the kind that it comes after.
   */
  readonly ofBlocks?: { readonly after?: string };
  /** Places whose blocks no other kind may judge, whether or not there is a finding. */
  claims?(run: RecordedTools): FindingPlace[];
  /** Facts that add up where a line has several findings, beside the amount. Others are means, or shares of the place's own. */
  readonly sums?: readonly (keyof F & string)[];
  /** A fact in which findings must agree to be added up. */
  readonly apart?: keyof F & string;
  /** Two profiles are compared by it though they counted different things of blocks. */
  readonly isComparable?: true;

  sentence(finding: F): FindingSentence;
  /** What the part is of. */
  readonly whole: Whole;
  /** The measure that shows how much a finding is about. */
  readonly weight: string;
  /** Measures that weigh it in a call tree: the first that the run has. */
  readonly treeWeights: readonly string[];
  /** The place is a variable, which no call path leads to. */
  readonly isOfVariable?: true;
}

/** What a search of the waste tool's record starts from. */
export interface WasteSearch {
  readonly file: WasteFile;
  readonly partners: Partners;
  /** Sums up what is harmless as a rule. */
  readonly fold: (what: string, bytes: number) => void;
}

/** Bytes that a program moves, and those that it allocates. */
export interface WasteWholes {
  readonly moved: number;
  readonly allocated: number;
}

/** What a kind has more if the waste tool finds it. `Facts`: what its findings have beside those of all kinds. */
export interface WasteKind<Facts = object> {
  /** Searches one store, load, place that reallocates or place that allocates. */
  ofStore?(store: WasteStore, index: number, search: WasteSearch): WasteFinding[];
  ofLoad?(load: WasteLoad, index: number, search: WasteSearch): WasteFinding[];
  ofReallocations?(site: WasteReallocations): WasteFinding[];
  ofBlocks?(site: WasteBlocks, search: WasteSearch): WasteFinding[];
  /** A finding is of the code that it is in, and only where most of what that does is in vain. Others are of the code that asks for blocks. */
  readonly isOfCode?: true;
  /** The wasted bytes as a part of the whole that they are compared with. */
  part(bytes: number, wholes: WasteWholes): number;
  facts(found: WasteFinding): Facts;
  /** False where other tools of the run know it better. */
  isReported?(run: RecordedTools): boolean;
  /** Says at length what is wasted. */
  says(found: WasteFinding): string;
  /** Says what to try in this very place. */
  advice(found: WasteFinding): string;
  /** Rows of the tool's record that the page selects. */
  readonly rows: readonly ("stores" | "loads" | "blocks" | "reallocations")[];
  /** Class of the stores that allocate the selected blocks, which belong to the finding too. */
  readonly storesOfBlocks?: string;
  /** Instead of those of the kind, where another tool finds it too. */
  readonly whole?: Whole;
  readonly weight?: string;
}
