import type { CpuProfile } from "../../profile/model/cpu.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { ObjectsProfile } from "../../profile/model/objects.ts";
import type { WasteFile } from "../../profile/model/waste.ts";
import type { WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import type { StaticsReport } from "./statics.ts";
import { heapTotals } from "./totals.ts";

/** Profiles that the tools recorded of one run. Their frames say whose code they are. */
export interface RecordedTools {
  readonly heap?: HeapProfile | undefined;
  readonly waste?: WasteFile | undefined;
  readonly workingset?: WorkingSetProfile | undefined;
  /** Objects of garbage-collected languages. */
  readonly objects?: ObjectsProfile | undefined;
  /** Call paths by CPU time. */
  readonly cpu?: CpuProfile | undefined;
  /** Recorded with the heap. */
  readonly statics?: StaticsReport | undefined;
}

/** Whether anything was recorded that may be wrong by itself: blocks, instances, the stack, or stores and loads; a working set is not. */
export function findsAnything({ heap, waste, objects }: RecordedTools): boolean {
  const hasBlocks = heap !== undefined && (heap.contexts.length > 0 || heapTotals(heap).allocations > 0);
  const hasObjects = objects?.fields === true && objects.parts.some(({ sites }) => sites.length > 0);
  const isOfModules =
    heap?.modules.some(({ instancesBy, stackTakes }) => (instancesBy ?? stackTakes) !== undefined) === true;
  return (
    hasBlocks ||
    isOfModules ||
    hasObjects ||
    (waste !== undefined && waste.stores.length + waste.loads.length > 0)
  );
}
