import { objectTotals } from "../../explain/analyses/objects/totals.ts";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import type { CpuProfile } from "../../profile/model/cpu/cpu-profile.ts";
import type { CounterTrack } from "../../profile/model/sample-profile.ts";
import { heapCsvLines } from "../report/json/heap-csv.ts";
import { workingSetCsv } from "../report/json/working-set-csv.ts";
import {
  allocationHistory,
  detailedHeapCounters,
  type History,
  heapCounters,
  workingSetCounters,
} from "./counters.ts";
import { heapDhat } from "./dhat.ts";
import type { ExportedSamples, Weight } from "./samples.ts";

type Profiles = { readonly [Part in keyof RecordedTools]-?: NonNullable<RecordedTools[Part]> };

/** What one tool recorded. */
export type ToolProfile = {
  [Part in keyof Profiles]: { readonly tool: Part; readonly profile: Profiles[Part] };
}[keyof Profiles];

/** What exports of one tool have, beside the measures that are declared of it. */
export interface ToolExport<Profile> {
  /** Samples, of which no measures are declared, and what weighs them. */
  readonly weights?: readonly Weight[];
  samples?(profile: Profile): ExportedSamples;
  /** What is over time beside stacks. */
  counters?(profile: Profile): CounterTrack[];
  history?(profile: Profile): History | undefined;
  /** A file of DHAT with all that such a file can hold. Others have one weight, with bytes of what it counts and accesses of the run. */
  dhat?(profile: Profile, exported: ExportedSamples): Iterable<string>;
  dhatScale?(profile: Profile): { readonly lineBytes: number; readonly end: number };
  /** What is over time by itself: as a table and as counters. */
  readonly overTime?: {
    isKnown?(profile: Profile): boolean;
    csv(profile: Profile): Iterable<string>;
    counters(profile: Profile): CounterTrack[];
  };
  /** Why nothing is, as the end of a sentence about a format's files. */
  readonly noTimeline?: string;
}

/** What call paths by CPU time have, in the order of files. */
const CPU_WEIGHTS: readonly Weight[] = [
  {
    key: "samples",
    type: "samples",
    unit: "count",
    says: "samples of a call path, each with those before it that were lost",
  },
  { key: "cpu", type: "cpu", unit: "nanoseconds", says: "CPU time that the samples stand for" },
];

/** The samples as they are, with threads and times. */
function cpuSamples({ samples, notTracked }: CpuProfile): ExportedSamples {
  const profile = { ...samples, valueTypes: CPU_WEIGHTS, notes: [...samples.notes, ...notTracked] };
  return { profile, weights: CPU_WEIGHTS, shown: 0 };
}

/** A tool that is not here has its call paths with the measures that are declared of it. */
export const TOOL_EXPORTS: { readonly [Part in keyof Profiles]: ToolExport<Profiles[Part]> } = {
  heap: {
    counters: heapCounters,
    history: allocationHistory,
    dhat: heapDhat,
    overTime: {
      isKnown: ({ overTime }) => overTime !== undefined,
      *csv(profile) {
        for (const line of heapCsvLines(profile)) yield `${line}\n`;
      },
      counters: detailedHeapCounters,
    },
  },
  waste: { dhatScale: ({ totals: { stores, loads } }) => ({ lineBytes: 1, end: stores + loads }) },
  workingset: {
    counters: workingSetCounters,
    dhatScale: ({ lineBytes, instances }) => ({
      lineBytes,
      end: instances.reduce((sum, { duration }) => sum + duration, 0),
    }),
    overTime: { csv: (profile) => [workingSetCsv(profile)], counters: workingSetCounters },
  },
  objects: {
    dhatScale: (profile) => ({ lineBytes: 1, end: objectTotals(profile).bytes }),
    noTimeline: "the heap and working sets over time: objects over time are in memshade report --json",
  },
  statics: { dhatScale: ({ accesses }) => ({ lineBytes: 1, end: accesses }) },
  cpu: {
    weights: CPU_WEIGHTS,
    samples: cpuSamples,
    noTimeline: "amounts over time: samples are in --format firefox with their times",
  },
};

/** What exports of a tool have more. */
export function toolExport(tool: ToolProfile["tool"]): ToolExport<ToolProfile["profile"]> {
  return TOOL_EXPORTS[tool] ?? {};
}

export function isOverTime(tool: ToolProfile["tool"]): boolean {
  return toolExport(tool).overTime !== undefined;
}

/**
 * Makes sure that there is something over time.
 *
 * @param asking what was asked for, as the user wrote it
 * @throws UserError where nobody recorded it
 */
export function requireOverTime({ tool, profile }: ToolProfile, input: string, asking: string): void {
  if (toolExport(tool).overTime?.isKnown?.(profile) !== false) return;
  throw new UserError(
    `${input} has no ${tool} over time: ${asking} needs a run of memshade with the ${tool} tool`,
  );
}

/** A format of what is over time was chosen for a tool that it is not written of. */
export function noTimeline(format: string, tool: ToolProfile["tool"]): UserError {
  const { noTimeline: why = `what is over time: ${tool} has no time` } = toolExport(tool);
  return new UserError(`${format} files hold ${why}`);
}
