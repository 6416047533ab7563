import { statSync } from "node:fs";
import { join } from "node:path";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { findsAnything, type RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import type { Finding } from "../../explain/findings/index.ts";
import { MOST_FINDINGS } from "../../explain/findings/rank.ts";
import { runFindings } from "../../explain/findings/run-findings.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import { RUN_FILE } from "../../profile/model/run.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import { pageOfRun, type ReadInstructions } from "../../show/report/page/data/run-page.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";
import { loadTools, recordedTools } from "../recorded-tools.ts";
import { plainText } from "../report/report-parts.ts";
import { presenceOf, runAround } from "../run-of-folder.ts";
import { type ModuleCode, type OriginalPlaces, RunSymbols } from "../run-symbols.ts";
import { pagePath, writePageFile } from "./page-file.ts";
import { sourceFiles } from "./source-files.ts";

export function pageOf(
  tools: RecordedTools,
  input: string,
  findings: readonly Finding[],
  {
    sources = "lines",
    pathMaps = [],
    binaryPaths,
  }: Pick<ReportPageOptions, "sources" | "binaryPaths"> & { pathMaps?: readonly PathMap[] | undefined },
): PageData {
  // Uses the time of run.json, because a folder's time changes with every file that is written into it.
  const isFolder = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  const recordedAt = statSync(isFolder ? join(input, RUN_FILE) : input, { throwIfNoEntry: false })?.mtimeMs;
  return pageOfRun(tools, {
    input,
    findings,
    presence: presenceOf(input),
    sources,
    read: sourceFiles(pathMaps, recordedAt, binaryPaths),
    instructions: runInstructions(input, { binaryPaths }),
  });
}

export interface ReportPageOptions {
  /** Path of the page; by default `report.html` in the run's folder, or beside an input file. */
  readonly file?: string | undefined;
  /**
   * Source text in the page: whole files of the program, the lines around measured ones (the default), or
   * none.
   */
  readonly sources?: SourcesKept | undefined;
  /** Folders or files of original modules or native programs, which are searched first. */
  readonly binaryPaths?: readonly string[] | undefined;
}

/**
 * Writes the report page of a run, as `memshade report --html` does.
 *
 * @param input folder of a run, as `writeRunFolder` writes it, or a MemProf file
 * @returns the path of the page
 * @throws UserError in one line if there is no run, or the page cannot be written
 */
export async function writeReportPage(
  input: string,
  { file, sources, binaryPaths }: ReportPageOptions = {},
): Promise<string> {
  const tools = await loadTools(input, recordedTools(input), { binaryPaths, rules: new FrameRules() });
  const findings = runFindings(tools, Number.POSITIVE_INFINITY);
  const shownFindings = findsAnything(tools) ? findings.slice(0, MOST_FINDINGS) : undefined;
  const text = plainText(tools, input, {}, shownFindings);
  const page = pageOf(tools, input, findings, { sources, binaryPaths });
  const path = pagePath(file ?? true, input);
  await writePageFile(page, text, { file: path, inputs: [input] });
  return path;
}

/** Returns a reader of the instructions in a run's modules, which a page shows beside source lines. */
export function runInstructions(input: string, places: OriginalPlaces): ReadInstructions {
  const modules = runAround(input)?.modules ?? [];
  const symbols = new RunSymbols(places);
  const codeOfModule = new Map<number, ModuleCode | undefined>();
  return (index, address) => {
    const module = modules[index];
    if (module === undefined) return [];
    if (!codeOfModule.has(index)) codeOfModule.set(index, symbols.codeOf(module));
    const code = codeOfModule.get(index);
    return (code?.instructionsAround(address) ?? []).map((instruction) => {
      const [place] = code!.frames(instruction.address);
      return { ...instruction, file: place?.file, line: place?.line ?? 0 };
    });
  };
}
