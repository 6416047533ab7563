import { findPhases, type WorkingSetPhase } from "../../../explain/analyses/working-set.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type { Presence } from "../../../profile/model/run.ts";
import type {
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../../profile/model/working-set/working-set.ts";
import { type FindingJson, findingsJson } from "./findings.ts";
import { type CurvesJson, localityJson } from "./locality.ts";
import { type PresenceJson, presenceJson } from "./presence.ts";
import type { CutJson } from "./text.ts";

export const WORKING_SET_REPORT_VERSION = 2;

/** Report of a working set: the run's workingset.json, with phases and curves. */
export interface WorkingSetReportJson extends CutJson, Omit<WorkingSetProfile, "version" | "instances"> {
  /** Kind and version of the report; `schema` is that of workingset.json. */
  report: "working-set";
  version: typeof WORKING_SET_REPORT_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Memory of the profiler, as far as known. */
  presence: PresenceJson | null;
  /** Findings; absent within the report of several tools. */
  summary: readonly FindingJson[] | undefined;
  /** Recorded instances, in the order of their creation. */
  instances: readonly WorkingSetInstanceJson[];
}

interface WorkingSetInstanceJson extends InstanceWorkingSet {
  /** Phases of the instance. */
  phases: readonly WorkingSetPhase[];
  /** Estimates for the whole run, with `--locality`. */
  curves?: CurvesJson;
}

/** Returns the profile for JSON with derived data: phases and curves (docs/report-json.md). */
export function workingSetReportJson(
  profile: WorkingSetProfile,
  input: string,
  presence?: Presence,
  summary?: readonly Finding[],
): WorkingSetReportJson {
  return {
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
}
