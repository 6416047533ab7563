import { markObjects } from "../explain/analyses/frames/mark-frames.ts";
import { readableObjects } from "../names/symbolize/readable-profiles.ts";
import { readObjects } from "../profile/model/objects.ts";
import { ToolFile } from "./tool-file.ts";

/** Garbage-collected objects of a run's directory, its `run.json`, or an `objects.json`. */
export const OBJECTS_FILE = new ToolFile({
  tool: "objects",
  name: "objects.json",
  contents: "garbage-collected objects",
  read: readObjects,
  readable: readableObjects,
  mark: markObjects,
});
