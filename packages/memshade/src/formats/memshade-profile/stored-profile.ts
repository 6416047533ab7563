import type { MemprofBlocks, MemprofProfile } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import type { ProfileOrigin } from "./write.ts";

/** Alloc sites and call sites of one function. Stacks and blocks are numbers in the profile's tables. */
export interface FunctionRecord {
  readonly guid: bigint;
  readonly allocSites: readonly { readonly stack: number; readonly block: number }[];
  readonly callSites: readonly { readonly stack: number; readonly callees: readonly bigint[] }[];
}

/** What can be asked of a memshade profile, whichever way it is stored. */
export interface StoredProfile {
  readonly origin: ProfileOrigin;
  /** GUIDs of the functions that have a record, ascending. */
  readonly functions: readonly bigint[];
  readonly frames: MemprofProfile["frames"];
  readonly stacks: MemprofProfile["stacks"];
  /** The record of one function. */
  record(guid: bigint): FunctionRecord | undefined;
  /** Everything but the blocks. */
  outline(): Omit<MemprofProfile, "blocks">;
  /** Number of contexts, and of their blocks. */
  readonly contexts: number;
  /** Fields of the blocks that this reader knows. */
  readonly fields: readonly MibField[];
  /** The blocks in order, some thousand at a time. */
  blocks(): Iterable<MemprofBlocks>;
}
