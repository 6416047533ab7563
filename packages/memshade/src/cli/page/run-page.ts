import { statSync } from "node:fs";
import { join } from "node:path";
import { type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import { RUN_FILE } from "../../model/run.ts";
import type { PageData } from "../../report/page/data/page-data.ts";
import { pageOfRun } from "../../report/page/data/run-page.ts";
import type { SourcesKept } from "../../report/page/data/sources.ts";
import { presenceOf } from "../load/run-of-folder.ts";
import type { PathMap } from "../load/source.ts";
import { sourceFiles } from "./source-files.ts";

/** What was recorded as a page, with all findings. */
export function pageOf(
  tools: RecordedTools,
  input: string,
  {
    sources = "lines",
    pathMaps = [],
  }: { sources?: SourcesKept | undefined; pathMaps?: readonly PathMap[] | undefined },
): PageData {
  // A folder changes with every file that is written into it, this one too.
  const isFolder = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  const recordedAt = statSync(isFolder ? join(input, RUN_FILE) : input, { throwIfNoEntry: false })?.mtimeMs;
  return pageOfRun(tools, {
    input,
    findings: runFindings(tools, Number.POSITIVE_INFINITY),
    presence: presenceOf(input),
    sources,
    read: sourceFiles(pathMaps, recordedAt),
  });
}
