import { counted } from "../../profile/model/counted.ts";
import type { CpuProfile } from "../../profile/model/cpu.ts";
import { formatBytes, formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { isOfNativeProgram } from "../../profile/model/known-fields.ts";
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
 * Returns the sentence for a run without findings, with what was searched and which tools search more.
 * `no findings among 4,002 allocations (281 KiB at most); --tool heap looks at how they are used, --tool waste at stores and loads`
 */
export function noFindings(tools: RecordedTools): string {
  const { heap, waste, objects } = tools;
  // The recording of another tool determines what was searched.
  if (heap?.description.importedFrom !== undefined) return "no findings";
  const searched = [
    ...(heap === undefined ? [] : [hasUses(heap) ? "blocks" : allocationsText(heap)]),
    ...(waste === undefined ? [] : ["stores and loads"]),
    ...(objects === undefined ? [] : ["objects"]),
  ];
  const other = furtherTools(tools);
  return `no findings${searched.length === 0 ? "" : ` among ${searched.join(", ")}`}${other === undefined ? "" : `; ${other}`}`;
}

/**
 * Returns the tools that search more; undefined if all were searched, or nothing is known. The recording of a module's
 * heap shows whether the waste tool would find anything.
 */
export function furtherTools({ heap, waste }: RecordedTools): string | undefined {
  if (heap?.description.importedFrom !== undefined) return undefined;
  if (heap !== undefined && !hasUses(heap))
    return `--tool heap looks at how they are used${waste === undefined ? ", --tool waste at stores and loads" : ""}`;
  if (heap !== undefined && waste === undefined)
    return isOfNativeProgram(heap) ? "--tool waste looks at stores and loads" : likelyWaste(heap);
  return heap === undefined && waste !== undefined ? "--tool heap looks at blocks" : undefined;
}

/** Mean bytes of an access. */
const BYTES_PER_ACCESS = 4;
/**
 * Least parts of repeated loads and of filled bytes. The waste tool reports a twentieth of the bytes moved, of one line and a load
 * counting a quarter. Repeated loads are those of all lines.
 */
const LEAST_REPEATED = 0.25;
const LEAST_FILLED = 0.05;

/** Returns a sentence about loads or fills that may be in vain, with their amount; undefined if they are few. */
export function likelyWaste({ description }: HeapProfile): string | undefined {
  const { heapAccesses, otherAccesses, repeatedLoads = 0, filledBytes = 0 } = description.totals ?? {};
  const accesses = (heapAccesses ?? 0) + (otherAccesses ?? 0);
  if (repeatedLoads >= LEAST_REPEATED * accesses && repeatedLoads >= LEAST_ACCESSES)
    return `${formatCount(repeatedLoads)} of ${formatCount(accesses)} accesses load an address again in a loop: --tool waste tells which find the same value`;
  if (filledBytes >= LEAST_FILLED * accesses * BYTES_PER_ACCESS && filledBytes >= LEAST_ACCESSES)
    return `${formatBytes(filledBytes)} are filled with one value: --tool waste tells which are overwritten before any read`;
  return undefined;
}

/** Fewer accesses take less than a tenth of a millisecond. */
const LEAST_ACCESSES = 100_000;

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
