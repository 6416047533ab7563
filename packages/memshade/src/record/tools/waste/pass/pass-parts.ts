import type { Frames } from "../../../contexts/frames/call-frames.ts";
import type { FramedSites } from "../framed-sites.ts";
import type { StreamTargets } from "./loop-streams.ts";
import type { NodeTargets } from "./node-calls.ts";
import type { FixedRecords, FramedRecords, SiteRecords } from "./sites/site-records.ts";
import type { SummaryFunctions } from "./summary-functions.ts";
import type { SummarySnippets } from "./summary-snippets.ts";

/** What follows plain accesses quickly. */
export interface SummaryParts {
  snippets: SummarySnippets;
  functions: SummaryFunctions;
  /** 1 for each site that is followed inline. */
  inlined: Uint8Array;
  streams: StreamTargets;
  /** Frames of contexts, where they are told apart; otherwise the records of sites. */
  framed: FramedParts | undefined;
  fixed: FixedRecords | undefined;
}

export interface FramedParts {
  frames: Frames;
  sites: FramedSites;
  records: FramedRecords;
}

export interface PassTargets {
  /** Bytes of the program's memory that are followed. */
  covered: number;
  /** Keys of sites, which functions in the place of accesses get too. */
  records: SiteRecords;
  /** Id of the first store. */
  firstId: number;
  notePages: number;
  /** Gets the operand of memory.grow and hands it on, or one too large; −1: the memory's own maximum does. */
  growing: number;
  /** Gets the result of memory.grow and hands it on. */
  grown: number;
  /** Imported functions of which it is known what they read and write, by index. */
  exactImports: ReadonlySet<number>;
  /** What an opaque host may have read; −1 where the host is none. */
  hostMayRead: number;
  /** What takes the place of setting the stack pointer; −1 for nothing. */
  stackMoved: number;
  /** How calls change contexts in precise mode; undefined where nobody asks for them. */
  nodes: NodeTargets | undefined;
  /** Words of the control block: site of a store, of a load, of an allocation. */
  storeSite: number;
  loadSite: number;
  allocationSite: number;
  /** Word of the control block with the context of that. */
  allocationNode: number;
  zeroedSite: number;
  returnSite: number;
  /** Address where the beginnings of loops are counted, by the key of the first access that is counted with them; undefined: nowhere. */
  loopsOf: ((key: number, isStore: boolean) => number) | undefined;
  /** Whether calls of the allocator, and ends of frames, are told apart by place. */
  notesPlaces: boolean;
}
