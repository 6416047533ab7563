import { mibFromPacked } from "../../model/memprof/merge/block-merge.ts";
import type { Mib } from "../../model/mib.ts";
import { mibBytesOf } from "./layout.ts";
import type { RawCursor, RawScan } from "./raw-scan.ts";

/** What a raw profile holds, to be gone through: its dumps are merged. */
export interface RawContexts {
  /** PCs of every stack id, with or without a block. */
  stacks(): Iterable<readonly bigint[]>;
  /** Blocks with their PCs, in the order in which their ids were first seen. */
  contexts(): Iterable<RawContext>;
  /** Reads the block of a context once more, with its histogram, given the context's place. */
  blockReader(): (place: number) => Mib;
}

export interface RawContext {
  readonly pcs: readonly bigint[];
  /** Without its histogram. */
  readonly mib: Mib;
  readonly place: number;
}

/** Those of a file of which only pieces are in memory. */
export function contextsOfScan(scan: RawScan): RawContexts {
  return {
    *stacks() {
      for (const cursor of [scan.contexts(), scan.looseStacks()]) while (cursor.next()) yield pcsAt(cursor);
    },
    *contexts() {
      const cursor = scan.contexts();
      const mibBytes = mibBytesOf(scan.version);
      while (cursor.next()) {
        const mib = mibFromPacked(cursor.mib, cursor.mibAt, mibBytes);
        yield { pcs: pcsAt(cursor), mib, place: cursor.place };
      }
    },
    blockReader: () => scan.blockReader(),
  };
}

function pcsAt({ pcs, pcsAt: start, depth }: Pick<RawCursor, "pcs" | "pcsAt" | "depth">): bigint[] {
  return Array.from({ length: depth }, (_, index) => pcs.getBigUint64(start + 8 * index, true));
}
