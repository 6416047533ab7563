import { isMeasured, MEASURED_TOOLS, stacksOf } from "../../explain/measures/index.ts";
import { writeChromeTrace } from "../../profile/formats/chrome-trace.ts";
import { writeHeapProfile } from "../../profile/formats/v8-heap-profile.ts";
import { type FormatDescription, SAMPLE_FORMATS, type SampleFormat, STACKS } from "./sample-formats.ts";
import {
  type CountedWeight,
  type ExportedSamples,
  exportedSamples,
  type Weight,
  weightsOfTool,
} from "./samples.ts";
import { TOOL_EXPORTS, type ToolProfile, toolExport, weightDhat } from "./tool-exports.ts";

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

/** What stacks of a tool can be weighed by. */
export function weightsOf(tool: ToolProfile["tool"]): readonly Weight[] {
  return isMeasured(tool) ? weightsOfTool(tool) : (toolExport(tool).weights ?? []);
}

/** The tools whose stacks are written. */
export const EXPORTED_TOOLS = [
  ...new Set([...MEASURED_TOOLS, ...Object.keys(TOOL_EXPORTS)]),
] as readonly ToolProfile["tool"][];

export function exportedTool({ tool, profile }: ToolProfile): ExportedSamples {
  const { samples, counters, history } = toolExport(tool);
  if (!isMeasured(tool)) return samples!(profile);
  const profiles = { [tool]: profile };
  return exportedSamples(stacksOf(tool, profiles)!, profiles, {
    counters: counters?.(profile),
    history: history?.(profile),
  });
}

/** Whether a file of the format has the weight: DHAT's have bytes that something was done with, V8's have bytes. */
export function fitsFormat(format: ExportFormat, { tool }: ToolProfile, weight: Weight): boolean {
  if (format === "heapprofile") return weight.unit === "bytes";
  return format !== "dhat" || toolExport(tool).dhat !== undefined || weight.with !== undefined;
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
  const { dhat, dhatScale } = toolExport(recorded.tool);
  if (dhat !== undefined) return dhat(recorded.profile, exported);
  const scale = dhatScale?.(recorded.profile) ?? { lineBytes: 1, end: 0 };
  return weightDhat(exported, exported.weights[shown] as CountedWeight, scale);
}

/** What is over time as a table, in pieces. */
export function writeCsv({ tool, profile }: ToolProfile): Iterable<string> {
  return toolExport(tool).overTime!.csv(profile);
}

/** What is over time of one tool or two as counters, in pieces. */
export function writeTrace(program: string, recorded: readonly ToolProfile[]): Iterable<string> {
  const tracks = recorded.flatMap(({ tool, profile }) => toolExport(tool).overTime!.counters(profile));
  const notes = ["Each process is named after its clock, one unit of which is a microsecond here."];
  return writeChromeTrace(tracks, { program, notes });
}
