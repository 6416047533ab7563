import type { Mib } from "../../model/mib.ts";
import type { RawSegment, RawVersion } from "../../model/raw-profile.ts";

/**
 * Contexts of a raw profile, read from their positions in its file. Readers of many or large profiles need neither an
 * object per context nor the file in memory. All dumps are merged.
 */
export interface RawScan {
  readonly version: RawVersion;
  readonly lastVersion: RawVersion;
  readonly segments: readonly RawSegment[];
  readonly length: number;
  /** Returns a cursor over all contexts, in the order of their first occurrence. */
  contexts(): RawCursor;
  /** Returns a cursor over the stacks that have no block. */
  looseStacks(): StackCursor;
  /** Returns a reader of a context's block with its histogram, given the cursor's `place`. */
  blockReader(): (place: number) => Mib;
}

/** Cursor over stacks. Its data is valid until `next`. */
export interface StackCursor {
  next(): boolean;
  /** View of the PCs, which begin at `pcsAt`, leaf first. */
  readonly pcs: DataView;
  readonly pcsAt: number;
  readonly depth: number;
}

export interface RawCursor extends StackCursor {
  /** View of the context's packed MIB, which begins at `mibAt`. */
  readonly mib: DataView;
  readonly mibAt: number;
  /** Key of the block for the scan's `blockReader`. */
  readonly place: number;
  histogram(): BigUint64Array | undefined;
}
