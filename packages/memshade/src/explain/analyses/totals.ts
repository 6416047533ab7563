import type { HeapProfile } from "../../profile/model/heap-profile.ts";

export interface HeapTotals {
  readonly allocations: number;
  readonly allocatedBytes: number;
  readonly heapAccesses: number;
  /** Sums over the contexts of the profile; equal to the above unless some data has no context. */
  readonly inContexts: { readonly allocations: number; readonly bytes: number; readonly accesses: number };
}

/** Returns the run's own totals if present, else the sums over all contexts. */
export function heapTotals({ contexts, description }: HeapProfile): HeapTotals {
  const { allocCount, totalSize, totalAccessCount } = contexts.mibs;
  const inContexts = {
    allocations: allocCount.reduce((sum, value) => sum + value, 0),
    bytes: Number(totalSize.reduce((sum, value) => sum + value, 0n)),
    accesses: Number(totalAccessCount.reduce((sum, value) => sum + value, 0n)),
  };
  const counted = description.totals;
  return {
    allocations: counted?.allocations ?? inContexts.allocations,
    allocatedBytes: counted?.allocatedBytes ?? inContexts.bytes,
    heapAccesses: counted?.heapAccesses ?? inContexts.accesses,
    inContexts,
  };
}
