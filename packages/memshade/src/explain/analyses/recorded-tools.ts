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
 * Returns the sentence for a run without findings, with what was searched and which tool searches more.
 * `no findings among allocations; --tool heap also looks at how blocks are used`
 */
export function noFindings({ heap, waste, objects }: RecordedTools): string {
  // The recording of another tool determines what was searched.
  if (heap?.description.importedFrom !== undefined) return "no findings";
  const hasUses = heap !== undefined && heap.description.counters !== "none";
  const searched = [
    ...(heap === undefined ? [] : [hasUses ? "blocks" : "allocations"]),
    ...(waste === undefined ? [] : ["stores and loads"]),
    ...(objects === undefined ? [] : ["objects"]),
  ];
  const other =
    heap !== undefined && !hasUses
      ? "; --tool heap also looks at how blocks are used"
      : heap !== undefined && waste === undefined
        ? "; --tool waste looks at stores and loads"
        : heap === undefined && waste !== undefined
          ? "; --tool heap looks at blocks"
          : "";
  return `no findings${searched.length === 0 ? "" : ` among ${searched.join(", ")}`}${other}`;
}

/**
 * Returns true if the run recorded something that can be faulty by itself: blocks, instances, the stack, objects, stores or loads.
 * A working set cannot.
 */
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
