import type { CpuProfile } from "../../profile/model/cpu.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { ObjectsProfile } from "../../profile/model/objects.ts";
import type { WasteFile } from "../../profile/model/waste.ts";
import type { WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import type { StaticsReport } from "./statics.ts";
import { heapTotals } from "./totals.ts";

/** Profiles of all tools in one run, with libraries marked in their frames. */
export interface RecordedTools {
  readonly heap?: HeapProfile | undefined;
  readonly waste?: WasteFile | undefined;
  readonly workingset?: WorkingSetProfile | undefined;
  readonly objects?: ObjectsProfile | undefined;
  readonly cpu?: CpuProfile | undefined;
  /** Static data, recorded with the heap. */
  readonly statics?: StaticsReport | undefined;
}

/**
 * Returns true if the run recorded something that can be faulty by itself: blocks, instances, or stores and loads. A
 * working set cannot.
 */
export function findsAnything({ heap, waste, objects }: RecordedTools): boolean {
  const hasBlocks = heap !== undefined && (heap.contexts.length > 0 || heapTotals(heap).allocations > 0);
  const hasObjects = objects?.fields === true && objects.parts.some(({ sites }) => sites.length > 0);
  const hasInstances = heap?.modules.some(({ instancesBy }) => instancesBy !== undefined) === true;
  return (
    hasBlocks ||
    hasInstances ||
    hasObjects ||
    (waste !== undefined && waste.stores.length + waste.loads.length > 0)
  );
}
