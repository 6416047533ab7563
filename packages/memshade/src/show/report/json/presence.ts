import type { Presence, ProcessCost, ProcessMemory } from "../../../profile/model/run.ts";

/** Memory of the profiler in the program's process, and of the process itself. Bytes. */
export interface PresenceJson extends Omit<Presence, "process" | "memory"> {
  /** Cost of the whole process, from measured.json; null if it was not measured. */
  readonly process: ProcessCost | null;
  /** Memory of a native program itself, from measured.json; null if it was not measured. */
  readonly memory: ProcessMemory | null;
}

/** Returns the memory of the profiler and of its process as a member of a report (docs/report-json.md). */
export function presenceJson(presence: Presence | undefined): PresenceJson | null {
  return presence === undefined
    ? null
    : { ...presence, process: presence.process ?? null, memory: presence.memory ?? null };
}
