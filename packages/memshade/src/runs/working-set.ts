import { markWorkingSet } from "../analyses/frames/mark-frames.ts";
import { readWorkingSet } from "../model/working-set/read-working-set.ts";
import type { WorkingSetProfile } from "../model/working-set/working-set.ts";
import { readableWorkingSet } from "../symbolize/readable-profiles.ts";
import type { OwnCode } from "./own-code.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { nameSites } from "./site-stacks.ts";
import { ToolFile } from "./tool-file.ts";

const FILE = new ToolFile({
  ...{ tool: "workingset", name: "workingset.json", contents: "working set" },
  ...{ read: readWorkingSet, readable: readableWorkingSet, nameSites, mark: markWorkingSet },
});

/** Whether the run's directory (or the file) holds a working set, or says that there is one. */
export function hasWorkingSet(input: string): boolean {
  return FILE.isIn(input);
}

/**
 * Reads the working set of a run's directory, of its `run.json`, or of a `workingset.json`.
 *
 * @throws UserError in one line: nothing there, not recorded, damaged
 */
export function loadWorkingSet(input: string, options?: OwnCode & OriginalPlaces): WorkingSetProfile {
  return FILE.load(input, options);
}
