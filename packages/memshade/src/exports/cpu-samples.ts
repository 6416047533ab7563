import type { CpuProfile } from "../model/cpu/cpu-profile.ts";
import type { ExportedSamples, Weight } from "./exported.ts";

/** What call paths by CPU time have, in the order of files. */
export const CPU_WEIGHTS = {
  samples: {
    key: "samples",
    type: "samples",
    unit: "count",
    says: "samples of a call path, each with those before it that were lost",
  },
  cpu: { key: "cpu", type: "cpu", unit: "nanoseconds", says: "CPU time that the samples stand for" },
} as const satisfies Record<string, Weight>;

/** The samples as they are, with threads and times. */
export function cpuSamples({ samples, notTracked }: CpuProfile): ExportedSamples {
  const weights = Object.values(CPU_WEIGHTS);
  const profile = { ...samples, valueTypes: weights, notes: [...samples.notes, ...notTracked] };
  return { profile, weights, shown: 0 };
}
