import type { BinaryPlaces } from "./binaries.ts";
import type { MergedPart } from "./input-merger.ts";
import type { MergeInput } from "./inputs.ts";

/** What a merging thread gets when it is started. */
export interface MergeThreadData {
  readonly places: BinaryPlaces;
  /** Tags of the fields to keep. */
  readonly tags: readonly number[];
  readonly keepsSources: boolean;
  readonly keepsUnresolved: boolean | undefined;
  /** What it has merged goes to the main thread when it takes about so many bytes. */
  readonly mostBytes: number;
}

/** Inputs with their numbers; none of them means: hand over what there is. */
export interface MergeTask {
  readonly inputs: readonly { readonly input: MergeInput; readonly number: number }[];
}

export interface MergeReply {
  readonly done: number;
  readonly bad: readonly { readonly number: number; readonly message: string }[];
  readonly part: MergedPart | undefined;
}
