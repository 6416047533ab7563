import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PlaceFrame } from "../analyses/findings/finding.ts";
import { isNameless } from "../analyses/findings/nameless.ts";
import { findsAnything, type RecordedTools, runFindings } from "../analyses/findings/run-findings.ts";
import { FrameRules } from "../analyses/frames/frame-rules.ts";
import { whyHeapUnknown } from "../analyses/limits/followed-heap.ts";
import { wasteFindings } from "../analyses/waste/findings.ts";
import { findingLines } from "../report/findings/finding-lines.ts";
import { createPaint, type Paint } from "../report/terminal/common/paint.ts";
import { Screen } from "../report/terminal/common/screen.ts";
import { loadTools, recordedTools } from "../runs/recorded-tools.ts";
import { runOf } from "../runs/run-of-folder.ts";

/** Columns of a line behind `memshade: `. */
const COLUMNS = 70;

/** Reports read some 60 MiB in a second, profiles and modules together: nobody is kept waiting at the end of a program for more than this. */
const MOST_BYTES = 24 * 2 ** 20;

/**
 * What the report of a run begins with, as lines for the end of the run. None where making them would take long, and where nothing was
 * recorded that could be found fault with.
 */
export async function summaryLines(folder: string): Promise<string[]> {
  if (bytesToRead(folder) > MOST_BYTES) return [];
  const tools = await toolsOf(folder);
  if (!findsAnything(tools)) return isHeapUnseen(tools) ? [NOTHING_KNOWN] : [];
  const summary = linesOf(tools, COLUMNS, createPaint(false));
  if (summary.length > 0) return summary.map(({ line }) => line);
  if (isHeapUnseen(tools)) return [NOTHING_KNOWN];
  if (tools.heap !== undefined && isNameless(tools.heap)) return [NAMELESS];
  return [hasSmallWaste(tools) ? SMALL_WASTE : "no findings"];
}

const NOTHING_KNOWN = "no findings, but no allocator was found: nothing is known of the heap";
const NAMELESS = "no findings, but the code that allocates has no names: findings need names";
const SMALL_WASTE = "nothing stands out: the report has smaller findings";

/** Whether the report tells of waste that is too little for a summary. */
function hasSmallWaste({ waste }: RecordedTools): boolean {
  if (waste === undefined) return false;
  return wasteFindings(waste).findings.some(({ library, isUnnamed }) => library === undefined && !isUnnamed);
}

/** Whether a heap was to be followed, and none was: no findings say nothing of it then. */
function isHeapUnseen(tools: RecordedTools): boolean {
  return whyHeapUnknown(tools) !== undefined;
}

/** The findings of a run, as lines of so many columns at most, with the program's own frame of each. */
export async function summaryOf(folder: string, columns: number, paint: Paint): Promise<SummaryLine[]> {
  return linesOf(await toolsOf(folder), columns, paint);
}

interface SummaryLine {
  line: string;
  place: PlaceFrame;
}

function linesOf(tools: RecordedTools, columns: number, paint: Paint): SummaryLine[] {
  const findings = runFindings(tools);
  const screen = new Screen({ paint, width: columns, isWide: false });
  const lines = findings.length === 0 ? [] : findingLines(screen, findings, columns);
  return findings.map(({ place }, index) => ({ line: lines[index]!, place: place.path[0]! }));
}

async function toolsOf(folder: string): Promise<RecordedTools> {
  return loadTools(folder, recordedTools(folder), { rules: new FrameRules() });
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
