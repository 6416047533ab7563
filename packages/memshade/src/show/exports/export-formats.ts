import { objectTotals } from "../../explain/analyses/objects/totals.ts";
import type { StaticsReport } from "../../explain/analyses/statics/static-objects.ts";
import { MEASURED_TOOLS, stacksOf } from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { writeChromeTrace } from "../../profile/formats/chrome-trace/write.ts";
import { writeHeapProfile } from "../../profile/formats/v8-heap-profile/write.ts";
import type { CpuProfile } from "../../profile/model/cpu/cpu-profile.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { ObjectsProfile } from "../../profile/model/objects/objects.ts";
import type { WasteFile } from "../../profile/model/waste/waste.ts";
import type { WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import { heapCsvLines } from "../report/json/heap-csv.ts";
import { workingSetCsv } from "../report/json/working-set-csv.ts";
import { detailedHeapCounters, workingSetCounters } from "./counters.ts";
import { heapDhat, weightDhat } from "./dhat.ts";
import { type FormatDescription, SAMPLE_FORMATS, type SampleFormat, STACKS } from "./sample-formats.ts";
import {
  type CountedWeight,
  type ExportedSamples,
  exportedSamples,
  type Weight,
  weightsOfTool,
} from "./samples.ts";

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

export type ExportFormat = SampleFormat | "dhat" | "heapprofile" | "chrome-trace" | "csv";

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, FormatDescription>> = {
  ...SAMPLE_FORMATS,
  dhat: { ...STACKS, extension: "dhat.json", opened: "load it in Valgrind's dh_view.html" },
  heapprofile: {
    ...STACKS,
    extension: "heapprofile",
    hasOneWeight: true,
    opened: "load it in the Memory panel of Chrome DevTools, or in VS Code",
  },
  "chrome-trace": {
    ...STACKS,
    extension: "chrome-trace.json",
    isOverTime: true,
    opened: "load it at https://ui.perfetto.dev",
  },
  csv: { ...STACKS, extension: "csv", isOverTime: true, opened: "a spreadsheet reads it" },
};

/** The formats in the order of the help. */
export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as ExportFormat[];

/** What one tool recorded. */
export type ToolProfile =
  | { readonly tool: "heap"; readonly profile: HeapProfile }
  | { readonly tool: "waste"; readonly profile: WasteFile }
  | { readonly tool: "workingset"; readonly profile: WorkingSetProfile }
  | { readonly tool: "objects"; readonly profile: ObjectsProfile }
  | { readonly tool: "statics"; readonly profile: StaticsReport }
  | { readonly tool: "cpu"; readonly profile: CpuProfile };

/** What one tool recorded over time in amounts. */
export type OverTime = Extract<ToolProfile, { tool: "heap" | "workingset" }>;

/** What stacks of a tool can be weighed by. */
export function weightsOf(tool: ToolProfile["tool"]): readonly Weight[] {
  return tool === "cpu" ? Object.values(CPU_WEIGHTS) : weightsOfTool(tool);
}

/** The tools whose stacks are written. */
export const EXPORTED_TOOLS = [...MEASURED_TOOLS, "cpu"] as const;

export function exportedTool(recorded: ToolProfile): ExportedSamples {
  if (recorded.tool === "cpu") return cpuSamples(recorded.profile);
  const profiles = { [recorded.tool]: recorded.profile };
  return exportedSamples(stacksOf(recorded.tool, profiles)!, profiles);
}

/** Whether a file of the format has the weight: DHAT's have bytes that something was done with, V8's have bytes. */
export function fitsFormat(format: ExportFormat, { tool }: ToolProfile, weight: Weight): boolean {
  if (format === "heapprofile") return weight.unit === "bytes";
  return format !== "dhat" || tool === "heap" || weight.with !== undefined;
}

/**
 * A file with stacks, in pieces.
 *
 * @param shown index of the weight that is shown first, or that is the only one; it fits the format
 * @throws UserError if an amount does not fit
 */
export function writeStacks(
  format: Exclude<ExportFormat, "chrome-trace" | "csv">,
  recorded: ToolProfile,
  exported: ExportedSamples,
  shown: number,
): Iterable<string | Uint8Array> {
  if (format === "heapprofile") return writeHeapProfile(exported.profile, shown);
  if (format !== "dhat") return SAMPLE_FORMATS[format].write(exported.profile, shown);
  if (recorded.tool === "heap") return heapDhat(recorded.profile, exported);
  if (recorded.tool === "cpu") throw new RangeError("samples have no bytes");
  return weightDhat(exported, exported.weights[shown] as CountedWeight, scaleOf(recorded));
}

function scaleOf(recorded: Exclude<ToolProfile, { tool: "heap" | "cpu" }>): {
  lineBytes: number;
  end: number;
} {
  if (recorded.tool === "waste") {
    const { stores, loads } = recorded.profile.totals;
    return { lineBytes: 1, end: stores + loads };
  }
  if (recorded.tool === "objects") return { lineBytes: 1, end: objectTotals(recorded.profile).bytes };
  if (recorded.tool === "statics") return { lineBytes: 1, end: recorded.profile.accesses };
  const { lineBytes, instances } = recorded.profile;
  return { lineBytes, end: instances.reduce((sum, { duration }) => sum + duration, 0) };
}

/** A format of what is over time was chosen for a tool that it is not written of. */
export function noTimeline(format: ExportFormat, tool: "waste" | "objects"): UserError {
  return new UserError(
    tool === "waste"
      ? `${format} files hold what is over time: waste has no time`
      : `${format} files hold the heap and working sets over time: objects over time are in memshade report --json`,
  );
}

/** What is over time as a table, in pieces. */
export function* writeCsv(recorded: OverTime): Generator<string> {
  if (recorded.tool === "workingset") yield workingSetCsv(recorded.profile);
  else for (const line of heapCsvLines(recorded.profile)) yield `${line}\n`;
}

/** What is over time of one tool or two as counters, in pieces. */
export function writeTrace(program: string, recorded: readonly OverTime[]): Iterable<string> {
  const tracks = recorded.flatMap((one) =>
    one.tool === "heap" ? detailedHeapCounters(one.profile) : workingSetCounters(one.profile),
  );
  const notes = ["Each process is named after its clock, one unit of which is a microsecond here."];
  return writeChromeTrace(tracks, { program, notes });
}
