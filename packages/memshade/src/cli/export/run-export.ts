import { basename, resolve } from "node:path";
import { findMeasure, isMeasured, recordedWith } from "../../explain/measures/index.ts";
import { TOOLS } from "../../explain/measures/tools.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { mapPath, type PathMap } from "../../names/symbolize/path-map.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { writePieces } from "../../runs/output.ts";
import { assertProfile, loadPart, recordedTools, shelfOf } from "../../runs/recorded-tools.ts";
import { type ReportedTool, SHELVES } from "../../runs/shelves.ts";
import { chooseWeight } from "../../show/exports/choose-weight.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportedTool,
  writeCsv,
  writeStacks,
  writeTrace,
} from "../../show/exports/export-formats.ts";
import {
  isOverTime,
  noTimeline,
  requireOverTime,
  type ToolProfile,
  toolExport,
} from "../../show/exports/tool-exports.ts";
import { type ReadFlags, readOptions } from "../commands/report-options.ts";

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly tool?: ReportedTool | undefined;
  readonly by?: string | undefined;
  readonly out?: string | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
}

/** Contents of a file, and the middle part of its default name. */
interface Exported {
  readonly pieces: Iterable<string | Uint8Array>;
  readonly part: string;
}

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
    const quotedFile = quoteForShell(file);
    say(`written to ${quotedFile}; to see it: ${opened.replaceAll("FILE", quotedFile)}`);
  }
}

async function stacks(input: string, options: ExportOptions): Promise<Exported> {
  const format = options.format as Parameters<typeof writeStacks>[0];
  const tool = options.tool ?? firstTool(input);
  const { by } = options;
  await assertProfile(input, tool);
  const measure = by !== undefined && isMeasured(tool) ? findMeasure(by, "export", tool) : undefined;
  const part = measure !== undefined && recordedWith(measure.tool) === tool ? measure.tool : tool;
  const recorded = await loadExported(input, part, options);
  const { profile, ...rest } = exportedTool(recorded);
  const exported = { ...rest, profile: withMappedPaths(profile, options.pathMap ?? []) };
  const weightIndex = chooseWeight(format, recorded, exported, { by, option: "--by", input });
  const weight = exported.weights[weightIndex]!;
  const isSingle =
    EXPORT_FORMATS[format].hasOneWeight || (format === "dhat" && toolExport(tool).dhat === undefined);
  return {
    pieces: writeStacks(format, recorded, exported, weightIndex),
    part: isSingle ? weight.key : tool,
  };
}

/** Returns the default tool: the heap, if the run has one. */
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

/** Returns tables and counters over time, of the named tool or of all that have them. */
async function overTime(input: string, options: ExportOptions): Promise<Exported> {
  const { format, tool, by, pathMap } = options;
  if (by !== undefined || (pathMap !== undefined && format !== "csv"))
    throw new UserError(
      `${format} files have no stacks: leave out ${by !== undefined ? "--by" : "--path-map"}`,
    );
  if (tool !== undefined && !isOverTime(tool)) throw noTimeline(format, tool);
  if (tool !== undefined) await assertProfile(input, tool);
  const recorded = tool === undefined ? recordedTools(input).filter(isOverTime) : [tool];
  const tools = recorded.length === 0 ? (["workingset"] as const) : recorded;
  const profiles: ToolProfile[] = [];
  for (const toolName of format === "csv" ? tools.slice(-1) : tools) {
    const loaded = await loadExported(input, toolName, options);
    requireOverTime(loaded, input, `--format ${format}`);
    profiles.push(loaded);
  }
  if (format !== "csv") return { pieces: writeTrace(basename(resolve(input)), profiles), part: tool ?? "" };
  const [shownTool, otherTool] = [tools.at(-1)!, tools[0]!];
  if (tools.length > 1)
    say(
      `this is the table of ${SHELVES[shownTool].whole}; --tool ${otherTool} writes that of ${SHELVES[otherTool].whole}`,
    );
  return { pieces: writeCsv(profiles[0]!), part: shownTool };
}

/** @throws UserError in one line if the tool was not recorded, or its file is damaged */
async function loadExported(
  input: string,
  part: ToolProfile["tool"],
  options: ReadFlags,
): Promise<ToolProfile> {
  const profile = (await loadPart(input, part, readOptions(options)))[part];
  if (profile !== undefined) return { tool: part, profile } as ToolProfile;
  const { absent } = shelfOf(part);
  throw new UserError(`${input} has no ${isMeasured(part) ? TOOLS[part].whole : part}: ${absent}`);
}
