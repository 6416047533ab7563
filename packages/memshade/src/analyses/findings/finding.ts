import type { WasteType, WasteUnreadField } from "../../model/waste/waste.ts";

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
  /** Of who came there a sample was asked, so that figures of it are estimates. */
  readonly isSampled?: true | undefined;
}

/** What findings of all kinds have. */
interface Found<Kind extends string, Tool extends "heap" | "waste" | "workingset" | "objects"> {
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
}

/** Blocks that were never released. The amount is all that goes with them. */
export interface LeakFinding extends Found<"leak", "heap"> {
  /** Of the place. */
  readonly blocks: number;
  /**
   * "lost": no pointer to them is left; "host": none is left in the module's memory, and only the host may hold one;
   * "growing": they can still be reached, but hardly any was released, most are idle, and there are ever more of them; "live": they were
   * live at the end, and it is not known whether they are lost.
   */
  readonly state: "lost" | "host" | "growing" | "live";
  /** Blocks of other places that only they point to. */
  readonly behind: number;
  /** All blocks that the place allocated. */
  readonly allocated: number;
}

/** Blocks that nobody read or wrote. */
export interface UnusedFinding extends Found<"unused", "heap"> {
  readonly blocks: number;
  /** All blocks that the place allocated. */
  readonly allocated: number;
}

/** Blocks that were written and that nobody read. */
export interface NeverReadFinding extends Found<"never-read", "heap" | "waste"> {
  readonly blocks: number;
  /** All blocks that the place allocated. */
  readonly allocated: number;
}

/** Blocks that are freed as soon as they were allocated, again and again. The amount is how many; of objects for a collector all of them. */
export interface ChurnFinding extends Found<"churn", "heap"> {
  readonly blocks: number;
  /** A collector in the program frees them. */
  readonly collected?: boolean | undefined;
  /** All blocks that the place allocated. */
  readonly allocated: number;
}

/** Blocks that spend most of their lives after their last access. */
export interface DragFinding extends Found<"drag", "heap"> {
  readonly blocks: number;
  /** All blocks that the place allocated. */
  readonly allocated: number;
  /** Part of their lives, 0…1, at which they are accessed last. */
  readonly lastUse: number;
  /** Not all blocks were followed to their last access, so that blocks and bytes are about so many. */
  readonly isEstimate: boolean;
  /** The function of the phase in which that is; undefined where phases or their names are not known. */
  readonly during: string | undefined;
}

/**
 * Blocks that grow step by step. The amount is the bytes that are copied again and again; or the calls of realloc, where these find room
 * behind the block as a rule, far more often than a block that doubles needs them.
 */
export interface GrowthFinding extends Found<"growth", "heap"> {
  /** Blocks at the ends of chains, and how often contents were copied until they were there. */
  readonly chains: number;
  readonly copies: number;
  /** Bytes that would have been enough from the start, on average. */
  readonly reserve: number;
  /** Size of the largest block at an end. */
  readonly largestFinal: number;
  /** Where the amount is calls: how often these made a block larger where it was. */
  readonly steps?: number | undefined;
}

/** Large blocks whose second half, at least, is never used. */
export interface OverCapacityFinding extends Found<"over-capacity", "heap"> {
  readonly blocks: number;
  /** Of one block, on average: bytes, and those up to the last one that was used. */
  readonly size: number;
  readonly used: number;
}

/** A place that makes more than half of the peak, for a short part of the run. The amount is that by which the peak would be lower. */
export interface PeakFinding extends Found<"peak", "heap"> {
  /** Bytes of the peak, all places together. */
  readonly peak: number;
  /** Part of the program's work, 0…1, during which the place has what it has at the peak. */
  readonly held: number;
}

/** Stores that are overwritten before anything reads them. */
export interface DeadFinding extends Found<"dead", "waste"> {
  /** Of all bytes that the place stores, 0…1. */
  readonly share: number;
}

/** Zeros of calloc that are overwritten before anything reads them. */
export interface ClearFinding extends Found<"clear", "waste"> {
  /** Of all bytes that the place clears, 0…1. */
  readonly share: number;
}

/** Loads of what the same run of a loop has loaded, unchanged. */
export interface RedundantFinding extends Found<"redundant", "waste"> {
  /** Of all loads of the place, 0…1. */
  readonly share: number;
}

/** Members of blocks that nobody reads: somebody stores to those of the first kind, and nobody touches those of the second. */
export interface MembersFinding extends Found<"write-only" | "cold", "waste"> {
  readonly type: WasteType | undefined;
  /** Bytes of what blocks hold one of, or many one behind the other. */
  readonly element: number;
  readonly fields: readonly WasteUnreadField[];
}

/** Stores of what is there already. */
export interface SilentFinding extends Found<"silent", "waste"> {
  /** Of all stores of the place, 0…1. */
  readonly share: number;
}

/** Blocks that are made larger in small steps, so that they are copied again and again. */
export interface MovedFinding extends Found<"moved", "waste"> {
  readonly moves: number;
}

/** A table or variable of the program that it reads nothing of, or little: `place` names it and says where it is declared. */
export interface UnreadDataFinding extends Found<"unread-data", "heap"> {
  /** Bytes of all of it. */
  readonly bytes: number;
  /** Whether something was written to what nobody reads. */
  readonly written: boolean;
}

/** A field of garbage-collected objects that nobody reads: `place` names it. */
export interface UnreadFieldFinding extends Found<"unread-field", "objects"> {
  /** Those that have it. */
  readonly objects: number;
  /** Bytes of it in each of them. */
  readonly each: number;
  /** Whether it was written after they were made. */
  readonly written: boolean;
}

/** Garbage-collected objects of a type of which nobody reads any field. */
export interface UnreadObjectsFinding extends Found<"unread-objects", "objects"> {
  readonly objects: number;
  readonly type: string;
}

/** One thing that a person can act on. Each kind has its facts here, its search in a file of its own, and its sentence in the report. */
export type Finding =
  | LeakFinding
  | UnusedFinding
  | NeverReadFinding
  | ChurnFinding
  | DragFinding
  | GrowthFinding
  | OverCapacityFinding
  | PeakFinding
  | DeadFinding
  | ClearFinding
  | SilentFinding
  | RedundantFinding
  | MembersFinding
  | MovedFinding
  | UnreadDataFinding
  | UnreadFieldFinding
  | UnreadObjectsFinding;

/** Those that the waste tool makes. */
export type WasteToolFinding =
  | Extract<Finding, { tool: "waste" }>
  | (NeverReadFinding & { readonly tool: "waste" });
