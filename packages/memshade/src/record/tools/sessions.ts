import { HeapSession } from "./heap/read/heap-session.ts";
import { toSessionOptions } from "./heap-options.ts";
import { ObjectsSession } from "./objects/read/objects-session.ts";
import type { ToolName } from "./options.ts";
import { recordedToolsOf, type ToolOptions } from "./run-options.ts";
import type { ToolSession } from "./session.ts";
import { WasteSession } from "./waste/read/waste-file.ts";
import { WorkingSetSession } from "./working-set/read/working-set-session.ts";

/** Makes the session of a tool. `observesHost`: functions of WASI report to the instances which memory they read. */
type NewSession = (options: ToolOptions, observesHost?: boolean) => ToolSession;

export const SESSIONS: Readonly<Record<ToolName, NewSession>> = {
  heap: (options, observesHost) => new HeapSession({ ...toSessionOptions(options), observesHost }),
  alloc: (options, observesHost) =>
    new HeapSession({ ...toSessionOptions(options), counters: "none", includeStack: false, observesHost }),
  waste: () => new WasteSession(),
  workingset: (options) => new WorkingSetSession(options),
  objects: (options) => new ObjectsSession(options),
};

/** Makes the sessions of a run's tools. */
export function sessionsOf(options: ToolOptions, observesHost?: boolean): ToolSession[] {
  return recordedToolsOf(options).map((tool) => SESSIONS[tool](options, observesHost));
}
