import { objectTotals } from "../analyses/objects/totals.ts";
import { UserError } from "../bytes/errors.ts";
import { writeChromeTrace } from "../formats/chrome-trace/write.ts";
import { writeHeapProfile } from "../formats/v8-heap-profile/write.ts";
import type { CpuProfile } from "../model/cpu/cpu-profile.ts";
import type { HeapProfile } from "../model/heap-profile.ts";
import type { ObjectsProfile } from "../model/objects/objects.ts";
import type { WasteFile } from "../model/waste/waste.ts";
import type { WorkingSetProfile } from "../model/working-set/working-set.ts";
import { heapCsvLines } from "../report/json/heap-csv.ts";
import { workingSetCsv } from "../report/json/working-set-csv.ts";
import { CPU_WEIGHTS, cpuSamples } from "./cpu-samples.ts";
import { heapDhat, weightDhat } from "./dhat.ts";
import type { CountedWeight, ExportedSamples, Weight } from "./exported.ts";
import { detailedHeapCounters } from "./heap-counters.ts";
import { HEAP_WEIGHTS, heapSamples } from "./heap-samples.ts";
import { OBJECT_WEIGHTS, objectSamples } from "./object-samples.ts";
import { type SampleFormat, writeSamples } from "./sample-formats.ts";
import { WASTE_WEIGHTS, wasteSamples } from "./waste-samples.ts";
import { workingSetCounters } from "./working-set-counters.ts";
import { WORKING_SET_WEIGHTS, workingSetSamples } from "./working-set-samples.ts";

export type ExportFormat = SampleFormat | "dhat" | "heapprofile" | "chrome-trace" | "csv";

export interface FormatDescription {
  /** What the names of its files end in. */
  readonly extension: string;
  readonly isBinary: boolean;
  /** It has what is over time, and no stacks. */
  readonly isOverTime: boolean;
  /** Its files have one weight, which their names say. */
  readonly hasOneWeight: boolean;
  /** How to open a file, as words; `FILE` stands for its name. */
  readonly opened: string;
}

const STACKS = { isBinary: false, isOverTime: false, hasOneWeight: false } as const;

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, FormatDescription>> = {
  pprof: { ...STACKS, extension: "pb.gz", isBinary: true, opened: "go tool pprof -http=: FILE" },
  firefox: { ...STACKS, extension: "firefox.json", opened: "load it at https://profiler.firefox.com" },
  speedscope: { ...STACKS, extension: "speedscope.json", opened: "npx speedscope FILE" },
  folded: { ...STACKS, extension: "folded", hasOneWeight: true, opened: "flamegraph.pl FILE > FILE.svg" },
  dhat: { ...STACKS, extension: "dhat.json", opened: "load it in Valgrind's dh_view.html" },
  heapprofile: {
    ...STACKS,
    ...{ extension: "heapprofile", hasOneWeight: true },
    opened: "load it in the Memory panel of Chrome DevTools, or in VS Code",
  },
  "chrome-trace": {
    ...STACKS,
    ...{ extension: "chrome-trace.json", isOverTime: true },
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
  | { readonly tool: "cpu"; readonly profile: CpuProfile };

/** What one tool recorded over time in amounts. */
export type OverTime = Exclude<ToolProfile, { tool: "waste" | "objects" | "cpu" }>;

/** What stacks of each tool can be weighed by. */
export const TOOL_WEIGHTS: Readonly<Record<ToolProfile["tool"], readonly Weight[]>> = {
  heap: Object.values(HEAP_WEIGHTS),
  waste: Object.values(WASTE_WEIGHTS),
  workingset: Object.values(WORKING_SET_WEIGHTS),
  objects: Object.values(OBJECT_WEIGHTS),
  cpu: Object.values(CPU_WEIGHTS),
};

export function exportedTool(recorded: ToolProfile): ExportedSamples {
  switch (recorded.tool) {
    case "heap":
      return heapSamples(recorded.profile);
    case "waste":
      return wasteSamples(recorded.profile);
    case "workingset":
      return workingSetSamples(recorded.profile);
    case "objects":
      return objectSamples(recorded.profile);
    case "cpu":
      return cpuSamples(recorded.profile);
    default:
      throw new RangeError(`no such tool: ${recorded satisfies never}`);
  }
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
  if (format !== "dhat") return writeSamples(format, exported.profile, shown);
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
