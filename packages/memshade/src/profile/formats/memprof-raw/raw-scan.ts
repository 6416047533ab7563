import type { Mib } from "../../model/mib.ts";
import type { RawSegment, RawVersion } from "../../model/raw-profile.ts";

/**
 * The contexts of a raw profile where they stand in its file, for those who go through many or large profiles and
 * want neither an object per context nor the file in memory. All dumps are merged.
 */
export interface RawScan {
  /** Of the blocks that are handed out. */
  readonly version: RawVersion;
  /** Of the last dump in the file. */
  readonly lastVersion: RawVersion;
  readonly segments: readonly RawSegment[];
  /** Number of contexts. */
  readonly length: number;
  /** All contexts, in the order in which they were first seen. */
  contexts(): RawCursor;
  /** Stacks to which there is no block. */
  looseStacks(): StackCursor;
  /** Reads the block of a context, with its histogram, given the place of the cursor that was at it. */
  blockReader(): (place: number) => Mib;
}

/** One stack after the other. What it hands out is valid until `next`. */
export interface StackCursor {
  /** Goes to the next stack, at first to the first one. @returns false at the end */
  next(): boolean;
  /** The PCs are from `pcsAt` on, leaf first. */
  readonly pcs: DataView;
  readonly pcsAt: number;
  readonly depth: number;
}

/** One context after the other. What it hands out is valid until `next`. */
export interface RawCursor extends StackCursor {
  /** The context's MIB is at `mibAt`, packed. */
  readonly mib: DataView;
  readonly mibAt: number;
  /** What the scan's `blockReader` knows the block by. */
  readonly place: number;
  /** The context's histogram; undefined if it has none. */
  histogram(): BigUint64Array | undefined;
}
