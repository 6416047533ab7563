import type { Presence } from "../../../profile/model/run.ts";

/** Returns the memory of the profiler and of its process as a member of a report (docs/report-json.md). */
export function presenceJson(presence: Presence | undefined): object | null {
  return presence === undefined
    ? null
    : { ...presence, process: presence.process ?? null, memory: presence.memory ?? null };
}
