import { counted } from "../../profile/model/counted.ts";
import type { CpuProfile } from "../../profile/model/cpu.ts";
import { formatBytes } from "../../profile/model/format.ts";
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

/** Returns the sentence for a run without findings, with what was searched: `no findings among 4,002 allocations (281 KiB at most)`. */
export function noFindings({ heap, waste, objects }: RecordedTools): string {
  // The recording of another tool determines what was searched.
  if (heap?.description.importedFrom !== undefined) return "no findings";
  const searched = [
    ...(heap === undefined ? [] : [hasUses(heap) ? "blocks" : allocationsText(heap)]),
    ...(waste === undefined ? [] : ["stores and loads"]),
    ...(objects === undefined ? [] : ["objects"]),
  ];
  return `no findings${searched.length === 0 ? "" : ` among ${searched.join(", ")}`}`;
}

function hasUses({ description }: HeapProfile): boolean {
  return description.counters !== "none";
}

/** Forms `4,002 allocations (281 KiB at most)`. */
export function allocationsText(heap: HeapProfile): string {
  const { peakBytes } = heap.description.totals ?? {};
  const most = peakBytes === undefined ? "" : ` (${formatBytes(peakBytes)} at most)`;
  return `${counted(heapTotals(heap).allocations, "allocation")}${most}`;
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
