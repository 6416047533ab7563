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

export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as ExportFormat[];

/** Returns the weights of a tool's stacks. */
export function weightsOf(tool: ToolProfile["tool"]): readonly Weight[] {
  return isMeasured(tool) ? weightsOfTool(tool) : (toolExport(tool).weights ?? []);
}

/** Tools whose stacks can be exported. */
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

/**
 * True if files of the format can store the weight: DHAT's store bytes with an operation, V8's store bytes.
 */
export function fitsFormat(format: ExportFormat, { tool }: ToolProfile, weight: Weight): boolean {
  if (format === "heapprofile") return weight.unit === "bytes";
  return format !== "dhat" || toolExport(tool).dhat !== undefined || weight.with !== undefined;
}

/**
 * Writes a file with stacks, in pieces.
 *
 * @param shown index of the weight that is shown first, or of the only one; it must fit the format
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

/** Writes the record over time as a table, in pieces. */
export function writeCsv({ tool, profile }: ToolProfile): Iterable<string> {
  return toolExport(tool).overTime!.csv(profile);
}

/** Writes the records over time of one or two tools as counters, in pieces. */
export function writeTrace(program: string, recorded: readonly ToolProfile[]): Iterable<string> {
  const tracks = recorded.flatMap(({ tool, profile }) => toolExport(tool).overTime!.counters(profile));
  const notes = ["Each process is named after its clock, one unit of which is a microsecond here."];
  return writeChromeTrace(tracks, { program, notes });
}
