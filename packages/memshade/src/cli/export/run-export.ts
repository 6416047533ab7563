import { basename, resolve } from "node:path";
import { findMeasure } from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { mapPath, type PathMap } from "../../names/symbolize/path-map.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { writePieces } from "../../runs/output.ts";
import { recordedTools } from "../../runs/recorded-tools.ts";
import type { ReportedTool } from "../../runs/shelves.ts";
import { chooseWeight } from "../../show/exports/choose-weight.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportedTool,
  noTimeline,
  type OverTime,
  writeCsv,
  writeStacks,
  writeTrace,
} from "../../show/exports/export-formats.ts";
import { loadTool } from "./load-tool.ts";

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly tool?: ReportedTool | undefined;
  readonly by?: string | undefined;
  readonly out?: string | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
}

/** What is written, and the middle of the name that its file has if none is given. */
interface Exported {
  readonly pieces: Iterable<string | Uint8Array>;
  readonly part: string;
}

/** What `memshade export` does. */
export async function runExport(input: string, options: ExportOptions): Promise<void> {
  const { format, out } = options;
  const { isBinary, isOverTime, extension, opened } = EXPORT_FORMATS[format];
  const isTerminal = process.stdout.isTTY === true;
  if (out === "-" && isBinary && isTerminal)
    throw new UserError(`${format} files are binary: write them to a file with -o FILE, or to a pipe`);
  const { pieces, part } = isOverTime ? await overTime(input, options) : await stacks(input, options);
  const usual = [basename(resolve(input)), part, extension].filter((word) => word !== "").join(".");
  const file = out === "-" || (out === undefined && !isTerminal) ? undefined : (out ?? usual);
  await writePieces(file, pieces, [input]);
  if (file !== undefined) {
    const shown = quoteForShell(file);
    say(`written to ${shown}; to see it: ${opened.replaceAll("FILE", shown)}`);
  }
}

async function stacks(input: string, options: ExportOptions): Promise<Exported> {
  const format = options.format as Parameters<typeof writeStacks>[0];
  const tool = options.tool ?? firstTool(input);
  const { by } = options;
  const asked = by === undefined || tool === "cpu" ? undefined : findMeasure(by, "export", tool);
  const recorded = await loadTool(
    input,
    asked?.tool === "statics" && tool === "heap" ? "statics" : tool,
    options,
  );
  const { profile, ...rest } = exportedTool(recorded);
  const exported = { ...rest, profile: withMappedPaths(profile, options.pathMap ?? []) };
  const shown = chooseWeight(format, recorded, exported, { by, option: "--by", input });
  const weight = exported.weights[shown]!;
  const isSingle = EXPORT_FORMATS[format].hasOneWeight || (format === "dhat" && tool !== "heap");
  return {
    pieces: writeStacks(format, recorded, exported, shown),
    part: isSingle ? weight.key : tool,
  };
}

/** What is written where nobody says of which tool: the heap, where there is one. */
function firstTool(input: string): ReportedTool {
  return recordedTools(input)[0] ?? "heap";
}

function withMappedPaths(profile: SampleProfile, maps: readonly PathMap[]): SampleProfile {
  if (maps.length === 0) return profile;
  const frames = profile.frames.map((frame) =>
    frame.file === undefined ? frame : { ...frame, file: mapPath(frame.file, maps) },
  );
  return { ...profile, frames };
}

/** Tables and counters: of the tool that was named, or of all that have a time. */
async function overTime(input: string, options: ExportOptions): Promise<Exported> {
  const { format, tool, by, pathMap } = options;
  if (by !== undefined || (pathMap !== undefined && format !== "csv"))
    throw new UserError(
      `${format} files have no stacks: leave out ${by !== undefined ? "--by" : "--path-map"}`,
    );
  if (tool === "waste" || tool === "objects") throw noTimeline(format, tool);
  if (tool === "cpu")
    throw new UserError(
      `${format} files hold amounts over time: samples are in --format firefox with their times`,
    );
  const recorded = recordedTools(input).filter(
    (one) => one !== "waste" && one !== "objects" && one !== "cpu",
  );
  const tools = tool !== undefined ? [tool] : recorded.length === 0 ? (["workingset"] as const) : recorded;
  const profiles = [];
  for (const one of format === "csv" ? tools.slice(-1) : tools)
    profiles.push((await loadTool(input, one, { ...options, overTimeFor: format })) as OverTime);
  const [first] = profiles;
  if (format !== "csv") return { pieces: writeTrace(basename(resolve(input)), profiles), part: tool ?? "" };
  if (tools.length > 1) say(`the table of the working set: --tool heap writes that of the heap`);
  return { pieces: writeCsv(first!), part: first!.tool };
}
