import type { RecordedTools } from "../explain/analyses/recorded-tools.ts";
import type { MeasuredTool } from "../explain/measures/measured-stacks.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { hasCpu, loadCpu } from "./cpu.ts";
import { hasHeap, loadHeap, statusOf } from "./heap.ts";
import { hasObjects, loadObjects } from "./objects.ts";
import type { OwnCode } from "./own-code.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { loadStatics } from "./statics.ts";
import { hasWaste, loadWaste } from "./waste.ts";
import { hasWorkingSet, loadWorkingSet } from "./working-set.ts";

/** A tool whose part of a run is shown. */
export type ReportedTool = (typeof REPORTED_TOOLS)[number];

/** In the order in which they are shown. */
export const REPORTED_TOOLS = ["heap", "waste", "workingset", "objects", "cpu"] as const;

/**
 * The tools that a run has profiles of; the heap for what is no run at all: a raw profile, or a mistake that its reader explains.
 *
 * @throws UserError in one line where nothing is there
 */
export function recordedTools(input: string): ReportedTool[] {
  const found = partsOf(input);
  return found.length === 0 ? ["heap"] : found;
}

/**
 * What a tool that a run lacks is to be told of: nothing else may be wrong.
 *
 * @throws UserError in one line where it is neither a run nor a profile
 */
export async function assertProfile(input: string): Promise<void> {
  if (partsOf(input).every((tool) => tool === "heap")) await loadHeap(input);
}

function partsOf(input: string): ReportedTool[] {
  statusOf(input);
  const parts: readonly (readonly [ReportedTool, boolean])[] = [
    ["heap", hasHeap(input)],
    ["waste", hasWaste(input)],
    ["workingset", hasWorkingSet(input)],
    ["objects", hasObjects(input)],
    ["cpu", hasCpu(input)],
  ];
  return parts.filter(([, isThere]) => isThere).map(([name]) => name);
}

/**
 * The profile that the measures of a tool are of, and no other.
 *
 * @throws as `loadTools`
 */
export async function loadMeasured(
  input: string,
  tool: MeasuredTool,
  places: OriginalPlaces & OwnCode = {},
): Promise<RecordedTools> {
  if (tool === "heap") return { heap: (await loadHeap(input, places)).profile };
  return tool === "statics" ? { statics: loadStatics(input, places) } : loadTools(input, [tool], places);
}

/**
 * What tools recorded in a run.
 *
 * @throws UserError in one line where one of them did not, or its file is damaged
 */
export async function loadTools(
  input: string,
  tools: readonly ReportedTool[],
  places: OriginalPlaces & OwnCode = {},
): Promise<RecordedTools> {
  const waste = tools.includes("waste") ? loadWaste(input, places) : undefined;
  if (tools.includes("waste") && waste === undefined)
    throw new UserError(`--tool waste needs a run that was recorded with it: ${input} is none`);
  return {
    heap: tools.includes("heap") ? (await loadHeap(input, places)).profile : undefined,
    waste,
    workingset: tools.includes("workingset") ? loadWorkingSet(input, places) : undefined,
    objects: tools.includes("objects") ? loadObjects(input, places) : undefined,
    cpu: tools.includes("cpu") ? loadCpu(input, places) : undefined,
    statics: tools.includes("heap") ? loadStatics(input, places) : undefined,
  };
}
