import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import { reachSentence, whyHeapUnknown } from "../explain/analyses/heap.ts";
import {
  allocationsText,
  findsAnything,
  furtherTools,
  noFindings,
  type RecordedTools,
} from "../explain/analyses/recorded-tools.ts";
import type { PlaceFrame } from "../explain/findings/finding-kind.ts";
import { LEAST_BYTES } from "../explain/findings/heap-blocks.ts";
import { isNameless } from "../explain/findings/places.ts";
import { runFindings } from "../explain/findings/run-findings.ts";
import { wasteFindings } from "../explain/findings/waste/waste-findings.ts";
import { counted } from "../profile/model/counted.ts";
import { formatBytes } from "../profile/model/format.ts";
import { isOfNativeProgram } from "../profile/model/known-fields.ts";
import { quoteForShell } from "../profile/model/shell-words.ts";
import { fromHere } from "../record/host/run/terminal-line.ts";
import { loadTools, recordedTools } from "../runs/recorded-tools.ts";
import { RunNames } from "../runs/run-names.ts";
import { runOf } from "../runs/run-of-folder.ts";
import type { OriginalPlaces } from "../runs/run-symbols.ts";
import { adviceLines, findingLines } from "../show/report/findings.ts";
import { createPaint, type Paint } from "../show/report/terminal/common/paint.ts";
import { columnsOf, Screen, type TextTarget } from "../show/report/terminal/common/screen.ts";
import { targetOf } from "./standard-streams.ts";

/** Columns that `say()` writes in front of a line. */
const PREFIX_COLUMNS = "memshade: ".length;

/**
 * Most bytes of profile and modules that are read for a summary. Reports read about 60 MiB per second, and
 * the end of a program should not be delayed longer.
 */
const MOST_BYTES = 24 * 2 ** 20;

/**
 * Returns the summary for the end of a run, or the command that makes it where reading the profile would take long. Each finding is an
 * entry with its advice on further lines. A run without blocks, objects, stores or loads has no entries. The names and lines of native
 * programs are written beside the run, because the objects that have them may be gone later.
 */
export async function summaryLines(folder: string, target = targetOf(2)): Promise<string[]> {
  const bytes = isNative(folder) ? 0 : bytesToRead(folder);
  if (bytes > MOST_BYTES) return [laterLine(folder, bytes)];
  const damage = new Set<string>();
  const names = new RunNames();
  const tools = await toolsOf(folder, { names, reportDamage: (sentence) => damage.add(sentence) });
  names.write(folder);
  return [...findingsInLines(tools, folder, target), ...damage];
}

/**
 * Writes the names and lines of runs of native programs beside them. Objects that several runs share are
 * opened once.
 *
 * @throws UserError if a run cannot be read or written
 */
export async function nameRuns(folders: readonly string[]): Promise<void> {
  const opened: OriginalPlaces["opened"] = new Map();
  for (const folder of folders) {
    const names = new RunNames();
    await toolsOf(folder, { names, opened });
    names.write(folder);
  }
}

function findingsInLines(tools: RecordedTools, folder: string, target: TextTarget): string[] {
  if (!findsAnything(tools)) return isHeapUnseen(tools) ? [NOTHING_KNOWN] : [];
  const summary = linesOf(tools, target, PREFIX_COLUMNS, createPaint(false));
  if (summary.length > 0)
    return [
      ...summary.map(({ line, advice }) => [line, ...advice].join("\n")),
      furtherCommands(folder, summary[0]!.kind),
      ...reachLines(tools),
      ...furtherLines(tools),
    ];
  if (isHeapUnseen(tools)) return [NOTHING_KNOWN];
  const isUnnamed = tools.heap !== undefined && isNameless(tools.heap);
  return [
    isUnnamed ? NAMELESS : hasSmallWaste(tools) ? SMALL_WASTE : noFindings(tools),
    ...liveLines(tools, folder),
    ...reachLines(tools),
  ];
}

/** Returns the line behind findings about what another tool would find. */
function furtherLines(tools: RecordedTools): string[] {
  const { heap } = tools;
  const further = furtherTools(tools);
  if (heap === undefined || further === undefined) return [];
  if (heap.description.counters === "none") return [`searched ${allocationsText(heap)}; ${further}`];
  return isOfNativeProgram(heap) ? [] : [further];
}

/** Returns the reason why the reach of a native program's live blocks is unknown. */
function reachLines({ heap }: RecordedTools): string[] {
  const sentence = heap !== undefined && isOfNativeProgram(heap) ? reachSentence(heap) : undefined;
  return sentence === undefined ? [] : [`${sentence[0]!.toLowerCase()}${sentence.slice(1, -1)}`];
}

/**
 * Returns a line with the amount that is live at the end, for runs without findings. Only the program's
 * author knows if such blocks were forgotten.
 */
function liveLines({ heap }: RecordedTools, folder: string): string[] {
  const { liveBytes = 0, liveBlocks = 0 } = heap?.description.totals ?? {};
  if (liveBytes < LEAST_BYTES) return [];
  const amount = `${formatBytes(liveBytes)} in ${counted(liveBlocks, "block is", "blocks are")}`;
  return [`${amount} live at the end: memshade top ${runInShell(folder)} --by left`];
}

/** Returns the line that replaces findings if reading them would delay the program's end. */
function laterLine(folder: string, bytes: number): string {
  const why = `reading ${formatBytes(bytes)} of profile and modules takes a while`;
  return `findings were not searched (${why}); to search them: memshade report ${runInShell(folder)}`;
}

/** Returns the commands that show all of the run and explain the first finding. */
function furtherCommands(folder: string, kind: string): string {
  return `details: memshade report ${runInShell(folder)}; meaning: memshade explain ${kind}`;
}

function runInShell(folder: string): string {
  return quoteForShell(fromHere(folder, process.cwd()));
}

const NOTHING_KNOWN = "no findings, but no allocator was found: the heap was not recorded";
const NAMELESS = "no findings, but the code that allocates has no names: findings need names";
const SMALL_WASTE = "nothing stands out: the report has smaller findings";

/** True if the report lists waste that is too small for a summary. */
function hasSmallWaste({ waste }: RecordedTools): boolean {
  if (waste === undefined) return false;
  return wasteFindings(waste).findings.some(({ library, isUnnamed }) => library === undefined && !isUnnamed);
}

/** True if a heap should have been recorded but was not, so that the lack of findings proves nothing. */
function isHeapUnseen(tools: RecordedTools): boolean {
  return whyHeapUnknown(tools) !== undefined;
}

/** Returns the findings of a run as lines behind `margin` columns of a terminal, each with its advice and the program's own frame. */
export async function summaryOf(
  folder: string,
  target: TextTarget,
  margin: number,
  paint: Paint,
): Promise<SummaryLine[]> {
  return linesOf(await toolsOf(folder), target, margin, paint);
}

interface SummaryLine {
  readonly line: string;
  readonly advice: readonly string[];
  readonly kind: string;
  readonly place: PlaceFrame;
}

function linesOf(tools: RecordedTools, target: TextTarget, margin: number, paint: Paint): SummaryLine[] {
  const findings = runFindings(tools);
  if (findings.length === 0) return [];
  const width = columnsOf(target) - margin;
  const screen = new Screen({ paint, width, isCut: target.isTerminal, isWide: false });
  const lines = findingLines(screen, findings, width);
  return findings.map((finding, index) => ({
    line: lines[index]!,
    advice: adviceLines(finding, width),
    kind: finding.kind,
    place: finding.place.path[0]!,
  }));
}

async function toolsOf(folder: string, places: OriginalPlaces = {}): Promise<RecordedTools> {
  return loadTools(folder, recordedTools(folder), { rules: new FrameRules(), ...places });
}

function isNative(folder: string): boolean {
  return runOf(folder)?.modules.some(({ object }) => object !== undefined) === true;
}

/** Returns the bytes of a run's files and of its modules, which contain the names and lines. */
function bytesToRead(folder: string): number {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const modules = runOf(folder)?.modules.flatMap(({ path }) => path ?? []) ?? [];
  return [...files, ...modules].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
