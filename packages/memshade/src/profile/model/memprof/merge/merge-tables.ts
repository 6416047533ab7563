import type { MibField } from "../../mib-fields.ts";
import type { FrameTable } from "../frame-table.ts";
import type { DataAccessProfile, MemprofProfile } from "../profile.ts";
import type { StackChains } from "../stack-chains.ts";
import type { BlockMerge } from "./block-merge.ts";
import type { CallSiteSet } from "./call-site-set.ts";
import type { RowIndex } from "./row-index.ts";

/** The tables that a merger collects into. */
export interface MergeTables {
  readonly frames: FrameTable;
  readonly stacks: StackChains;
  readonly contexts: RowIndex;
  readonly blocks: BlockMerge;
  readonly callSites: CallSiteSet;
  readonly histograms: Map<number, BigUint64Array>;
  /** Functions that a context is recorded in, where they are not those of its innermost inline chain. */
  readonly otherFunctions: Map<number, Set<bigint>>;
  readonly dataAccess: DataAccessProfile | undefined;
  /** Whether frames in modules without debug information stay, as places of these. */
  readonly keepsUnresolved: boolean;
  /** The wanted fields that every input so far has. */
  readonly knownFields: readonly MibField[];
  addHistogram(row: number, histogram: BigUint64Array): void;
}

/** What a merger has collected, with what another one needs to go on from there. */
export interface MergedProfile {
  readonly profile: MemprofProfile;
  /** By block: the number of the input that its timestamps and CPU numbers come from. */
  readonly lastInput: Float64Array;
}
