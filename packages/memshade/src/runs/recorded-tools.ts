import type { RecordedTools } from "../explain/analyses/recorded-tools.ts";
import { loadHeap, statusOf } from "./heap.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { type ReportedTool, SHELVES, type ToolShelf } from "./shelves.ts";
import type { OwnCode } from "./suppressions.ts";

/** Tools in the order of reports. */
export const REPORTED_TOOLS = Object.keys(SHELVES) as readonly ReportedTool[];

/**
 * Returns the tools that a run has profiles of. If the input is no run, returns the heap: it may be a raw
 * profile, and the heap's reader explains errors.
 *
 * @throws UserError in one line if the input does not exist
 */
export function recordedTools(input: string): ReportedTool[] {
  const found = partsOf(input);
  return found.length === 0 ? ["heap"] : found;
}

/**
 * Checks an input before a missing tool is reported, so that other errors come first.
 *
 * @throws UserError in one line if there is neither a part of that tool, nor a run or profile
 */
export async function assertProfile(input: string, tool?: ReportedTool): Promise<void> {
  const parts = partsOf(input);
  if (parts.length > 1 || (tool !== undefined && parts.includes(tool))) return;
  if (parts.length === 0 || parts[0] === "heap") await loadHeap(input);
}

function partsOf(input: string): ReportedTool[] {
  statusOf(input);
  return REPORTED_TOOLS.filter((tool) => SHELVES[tool].isIn(input));
}

/**
 * Loads the parts of several tools.
 *
 * @throws UserError in one line if a tool was not recorded, or its file is damaged
 */
export function loadTools(
  input: string,
  tools: readonly ReportedTool[],
  places: OriginalPlaces & OwnCode = {},
): Promise<RecordedTools> {
  const shelves = REPORTED_TOOLS.filter((tool) => tools.includes(tool)).map((tool) => SHELVES[tool]);
  return loadParts(
    input,
    shelves.flatMap(({ parts }) => Object.keys(parts) as (keyof RecordedTools)[]),
    places,
  );
}

/**
 * Loads one part of a run.
 *
 * @throws as `loadTools`
 */
export function loadPart(
  input: string,
  part: keyof RecordedTools,
  places: OriginalPlaces & OwnCode = {},
): Promise<RecordedTools> {
  return loadParts(input, [part], places);
}

async function loadParts(
  input: string,
  parts: readonly (keyof RecordedTools)[],
  places: OriginalPlaces & OwnCode,
): Promise<RecordedTools> {
  const loaded: [keyof RecordedTools, unknown][] = [];
  for (const part of parts) loaded.push([part, await shelfOf(part).parts[part]!(input, places)]);
  return Object.fromEntries(loaded);
}

export function shelfOf(part: keyof RecordedTools): ToolShelf {
  return Object.values(SHELVES).find(({ parts }) => parts[part] !== undefined)!;
}
