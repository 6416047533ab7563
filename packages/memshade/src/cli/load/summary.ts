import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { runFindings } from "../../analyses/findings/run-findings.ts";
import { FrameRules } from "../../analyses/frames/frame-rules.ts";
import { findingLines } from "../../report/findings/finding-lines.ts";
import { createPaint } from "../../report/terminal/common/paint.ts";
import { Screen } from "../../report/terminal/common/screen.ts";
import { loadTools, recordedTools } from "./recorded-tools.ts";
import { runOf } from "./run-of-folder.ts";

/** Columns of a line behind `memshade: `. */
const COLUMNS = 70;

/** Reports read some 60 MiB in a second, profiles and modules together: nobody is kept waiting at the end of a program for more than this. */
const MOST_BYTES = 24 * 2 ** 20;

/** What the report of a run begins with, as lines for the end of the run. None where making them would take long. */
export async function summaryLines(folder: string): Promise<string[]> {
  if (bytesToRead(folder) > MOST_BYTES) return [];
  const findings = runFindings(await loadTools(folder, recordedTools(folder), { rules: new FrameRules() }));
  if (findings.length === 0) return ["no findings"];
  const screen = new Screen({ paint: createPaint(false), width: COLUMNS, isWide: false });
  return findingLines(screen, findings, COLUMNS);
}

/** Of the files of a run, and of its modules, which have the names and lines. */
function bytesToRead(folder: string): number {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const modules = runOf(folder)?.modules.flatMap(({ path }) => path ?? []) ?? [];
  return [...files, ...modules].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
