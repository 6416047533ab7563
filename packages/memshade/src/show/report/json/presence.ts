import type { Presence } from "../../../profile/model/run.ts";

/** What the profiler took, and what its process did, as a member of a report (docs/report-json.md). */
export function presenceJson(presence: Presence | undefined): object | null {
  return presence === undefined
    ? null
    : { ...presence, process: presence.process ?? null, memory: presence.memory ?? null };
}
