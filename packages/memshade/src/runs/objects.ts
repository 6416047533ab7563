import { markObjects } from "../explain/analyses/frames/mark-frames.ts";
import { readableObjects } from "../names/symbolize/readable-profiles.ts";
import type { ObjectsProfile } from "../profile/model/objects/objects.ts";
import { readObjects } from "../profile/model/objects/read-objects.ts";
import type { OwnCode } from "./own-code.ts";
import { ToolFile } from "./tool-file.ts";

const FILE = new ToolFile({
  tool: "objects",
  name: "objects.json",
  contents: "garbage-collected objects",
  read: readObjects,
  readable: readableObjects,
  mark: markObjects,
});

/** Whether the run's directory (or the file) tells of garbage-collected objects, or says that there is something that does. */
export function hasObjects(input: string): boolean {
  return FILE.isIn(input);
}

/**
 * Reads the objects of a run's directory, of its `run.json`, or of an `objects.json`.
 *
 * @throws UserError in one line: nothing there, not recorded, damaged
 */
export function loadObjects(input: string, options?: OwnCode): ObjectsProfile {
  return FILE.load(input, options);
}
