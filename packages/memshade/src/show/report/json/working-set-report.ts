import { findPhases } from "../../../explain/analyses/working-set.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type { Presence } from "../../../profile/model/run.ts";
import type { WorkingSetProfile } from "../../../profile/model/working-set/working-set.ts";
import { findingsJson } from "./findings.ts";
import { localityJson } from "./locality.ts";
import { presenceJson } from "./presence.ts";

export const WORKING_SET_REPORT_VERSION = 1;

/** Formats the profile with derived data: phases and curves (docs/report-json.md). */
export function workingSetReportJson(
  profile: WorkingSetProfile,
  input: string,
  presence?: Presence,
  summary?: readonly Finding[],
): string {
  const report = {
    ...profile,
    report: "working-set",
    version: WORKING_SET_REPORT_VERSION,
    input,
    presence: presenceJson(presence),
    summary: summary && findingsJson(summary),
    instances: profile.instances.map((instance) => ({
      ...instance,
      phases: findPhases(instance),
      ...(instance.locality === undefined ? {} : { curves: localityJson(instance.locality) }),
    })),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
