import { mibFromPacked } from "../../model/memprof/merge/block-merge.ts";
import type { Mib } from "../../model/mib.ts";
import { mibBytesOf } from "./layout.ts";
import type { RawCursor, RawScan } from "./raw-scan.ts";

/** Contents of a raw profile as iterables; its dumps are merged. */
export interface RawContexts {
  /** Returns PCs of every stack id, with or without a block. */
  stacks(): Iterable<readonly bigint[]>;
  /** Blocks with their PCs, in the order in which their ids first occur. */
  contexts(): Iterable<RawContext>;
  /** Returns a reader of a context's block with its histogram, given the context's place. */
  blockReader(): (place: number) => Mib;
}

export interface RawContext {
  readonly pcs: readonly bigint[];
  readonly mib: Mib;
  readonly place: number;
}

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
