import type { CpuProfile } from "../../model/cpu/cpu-profile.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import type { ObjectsProfile } from "../../model/objects/objects.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { isCollected } from "../collected.ts";
import type { StaticsReport } from "../statics/static-objects.ts";
import { heapTotals } from "../totals.ts";
import { churnFindings } from "./churn.ts";
import { dragFindings } from "./drag.ts";
import type { Finding } from "./finding.ts";
import { growthFindings, overCapacityFindings, stepFindings } from "./growth.ts";
import { lostPlaces } from "./heap-blocks.ts";
import { leakFindings } from "./leak.ts";
import { objectFindings } from "./objects.ts";
import { peakFindings } from "./peak.ts";
import { isOfBlocks, placeKey, rankFindings } from "./rank.ts";
import { unreadDataFindings } from "./unread-data.ts";
import { unusedFindings } from "./unused.ts";
import { wasteToolFindings } from "./waste.ts";

/** What the tools recorded of one run, with frames that say whose they are. */
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

/** What a heap profile alone tells, a kind or two each. */
const OF_HEAP: readonly ((heap: HeapProfile) => Finding[])[] = [
  leakFindings,
  unusedFindings,
  churnFindings,
  dragFindings,
  growthFindings,
  stepFindings,
  overCapacityFindings,
  peakFindings,
];

/**
 * When blocks of a module begin and end is up to the script that calls it; how the module makes and uses them is not, and a frame of a
 * script is the place only where nothing of the module is the program's own.
 */
function isOfItsPlace({ kind, place }: Finding): boolean {
  const isScript = place.path[0]!.address === undefined;
  return !isScript || kind === "leak" || kind === "drag";
}

/** Whether anything was recorded that may be wrong by itself: blocks, or stores and loads; a working set is not. */
export function findsAnything({ heap, waste, objects }: RecordedTools): boolean {
  const hasBlocks = heap !== undefined && (heap.contexts.length > 0 || heapTotals(heap).allocations > 0);
  const hasObjects = objects?.fields === true && objects.parts.some(({ sites }) => sites.length > 0);
  return hasBlocks || hasObjects || (waste !== undefined && waste.stores.length + waste.loads.length > 0);
}

/** What a person can act on, over all tools of a run: the first screen of its report, or `most` of it. */
export function runFindings({ heap, waste, statics, objects }: RecordedTools, most?: number): Finding[] {
  // What the waste tool knows of blocks that move, the heap's knows of all that grow.
  const knowsGrowth = heap?.description.totals?.growth !== undefined && heap.description.counters !== "none";
  // A collector's objects are cleared whatever the program asks for.
  const clears = heap !== undefined && isCollected(heap);
  const inVain = waste === undefined ? [] : wasteToolFindings(waste);
  const all = [
    ...(heap === undefined ? [] : OF_HEAP.flatMap((find) => find(heap)).filter(isOfItsPlace)),
    ...(objects === undefined ? [] : objectFindings(objects)),
    ...(statics === undefined ? [] : unreadDataFindings(statics, heap)),
    ...inVain
      .filter(({ kind }) => kind !== "moved" || !knowsGrowth)
      .filter(({ kind }) => kind !== "clear" || !clears),
  ];
  // What is lost, and what hangs on it, is in the way because it is lost: of these blocks, nothing else is to be told.
  const lost = new Set(heap === undefined ? [] : lostPlaces(heap).map(placeKey));
  const told = all.filter(
    ({ kind, place }) => kind === "leak" || !isOfBlocks(kind) || !lost.has(placeKey(place)),
  );
  return rankFindings(told, most);
}
