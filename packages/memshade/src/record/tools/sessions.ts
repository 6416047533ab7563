import { ObjectsSession } from "./objects/read/objects-session.ts";
import type { ToolName } from "./options.ts";
import type { ToolOptions } from "./run-options.ts";
import type { ToolSession } from "./session.ts";
import { WasteSession } from "./waste/read/waste-file.ts";
import { WorkingSetSession } from "./working-set/read/working-set-session.ts";

/** How the session of each tool is made, but of those that share the heap's. */
export const SESSIONS: Readonly<Partial<Record<ToolName, (options: ToolOptions) => ToolSession>>> = {
  waste: () => new WasteSession(),
  workingset: (options) => new WorkingSetSession(options),
  objects: (options) => new ObjectsSession(options),
};
