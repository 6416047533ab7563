import type { BinaryPlaces } from "./binaries.ts";
import type { MergedPart } from "./input-merger.ts";
import type { MergeInput } from "./inputs.ts";

export interface MergeThreadData {
  readonly places: BinaryPlaces;
  readonly tags: readonly number[];
  readonly keepsSources: boolean;
  readonly keepsUnresolved: boolean | undefined;
  /** Approximate size of merged data at which the thread sends it to the main thread. */
  readonly mostBytes: number;
}

/** Inputs with their numbers; an empty list requests the merged data. */
export interface MergeTask {
  readonly inputs: readonly { readonly input: MergeInput; readonly number: number }[];
}

export interface MergeReply {
  readonly done: number;
  readonly bad: readonly { readonly number: number; readonly message: string }[];
  readonly part: MergedPart | undefined;
}
