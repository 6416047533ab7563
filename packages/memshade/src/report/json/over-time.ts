import { heapPhases } from "../../analyses/over-time/heap-phases.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";

/** The heap over time as JSON (docs/report-json.md): what the run's file has, with the phases of each instance. */
export function overTimeJson(profile: HeapProfile): object | null {
  const { overTime } = profile;
  if (overTime === undefined) return null;
  const { unit, instances, otherInstances } = overTime;
  return {
    unit,
    instances: instances.map((instance) => ({ ...instance, phases: phasesJson(profile, instance) })),
    otherInstances,
  };
}

function phasesJson(profile: HeapProfile, instance: Parameters<typeof heapPhases>[1]): object[] {
  const { phases, contexts } = heapPhases(profile, instance);
  return phases.map(({ first, last, start, end, mean, peak, name, agreement, stack }) => ({
    first,
    last,
    start,
    end,
    meanBytes: Math.round(mean),
    peakBytes: peak,
    name: name ?? null,
    agreement,
    stackId: stack < 0 ? null : `${profile.contexts.stackId[contexts[stack]!]}`,
  }));
}
