import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { FLEET_MEASURES, type FleetMeasure, type StepLimit } from "../../explain/fleet/measures.ts";
import { sqlText } from "../../explain/fleet/statements.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { writePieces } from "../../names/memprof/write-pieces.ts";
import { type MemprofVersion, writeMerged } from "../../profile/formats/memprof-indexed/index.ts";
import { counted } from "../../profile/model/counted.ts";
import { HOT_COLD_FIELDS } from "../../profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../profile/model/mib-fields.ts";
import { csvCell } from "../../profile/model/printable.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { findingInWords } from "../../show/report/findings.ts";
import { adviceJson, printAdvice, printTrend, trendHtml, trendJson } from "../../show/report/fleet.ts";
import { jsonText } from "../../show/report/json/text.ts";
import { Screen } from "../../show/report/terminal/common/screen.ts";
import { displayWidth, padLeft, padRight, printable } from "../../show/report/terminal/common/text.ts";
import { addRuns } from "../../store/add-runs.ts";
import { adviceOf } from "../../store/advice.ts";
import { createStatements, type Dialect } from "../../store/create-statements.ts";
import { type Answer, type Cell, StoreDatabase } from "../../store/database.ts";
import { StoreFolder } from "../../store/folder.ts";
import { commitOf } from "../../store/git-commit.ts";
import { compactStore, mergeStore } from "../../store/merge-store.ts";
import { trendOf } from "../../store/trend.ts";
import { type ScreenFlags, screenOptions, standardOutput } from "../commands/report-options.ts";
import { type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { print } from "../line-input.ts";
import { sayDataAccess, sayDataAccessLeftOut } from "../merge/say-written.ts";

const LIMIT_FAILED = 1;
/** First version of profiles with accesses to static data. */
const DATA_ACCESS_VERSION = 4;
/** Version of the indexed file format, the default of `merge`. */
const CONTAINER = 13;

interface AddFlags {
  readonly to: string;
  readonly project: string;
  readonly build?: string;
  readonly commit?: string;
  readonly host?: string;
  readonly label: readonly string[];
  readonly input?: string;
  readonly force?: boolean;
  readonly binary: readonly string[];
  readonly search: readonly string[];
}

export async function runStoreAdd(runs: readonly string[], flags: AddFlags): Promise<void> {
  if (flags.project === "" || flags.project.length > 100)
    throw new UserError("--project takes a name of up to 100 characters");
  const commit = commitOf(flags.commit, process.env);
  const build = flags.build ?? commit?.id;
  if (build === undefined)
    throw new UserError("the build is not known: give --commit or --build, or run in a git repository");
  if (build.trim() === "") throw new UserError("--build takes the name of a build, not an empty one");
  const { added, knownInputs, contexts, objectPlaces, leftOut } = await addRuns(flags.to, runs, {
    places: { binaries: flags.binary, searchPaths: flags.search },
    force: flags.force,
    sayFinding: (finding) => findingInWords(finding, { isShort: true }),
    identity: {
      project: flags.project,
      build,
      commit: commit?.id,
      commitTime: commit?.time,
      host: flags.host,
      labels: labelsOf(flags.label),
      inputSize: flags.input === undefined ? undefined : inputSizeOf(flags.input),
      added: Date.now(),
    },
  });
  for (const path of knownInputs) say(`${path} is in the store already: skipped`);
  for (const sentence of leftOut) say(sentence);
  if (added === 0) return say(`nothing new for ${flags.to}`);
  const parts = [
    ...(contexts > 0 ? [counted(contexts, "context")] : []),
    ...(objectPlaces > 0 ? [`${counted(objectPlaces, "place")} of objects`] : []),
  ];
  const rest = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  say(`${counted(added, "run")} of build ${printable(build)} added to ${flags.to}${rest}`);
}

function inputSizeOf(text: string): number {
  const size = Number(text);
  if (text.trim() === "" || !Number.isFinite(size) || size < 0)
    throw new UserError(`--input takes a number from 0, not "${text}"`);
  return size;
}

function labelsOf(texts: readonly string[]): Record<string, string> {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1) throw new UserError(`--label takes a name and a value, such as host=a1, not "${text}"`);
    const name = text.slice(0, at);
    if (labels.has(name)) throw new UserError(`--label ${name} is given twice: it has one value`);
    labels.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(labels);
}

interface TrendFlags extends ScreenFlags {
  readonly project?: string;
  readonly by?: FleetMeasure;
  readonly last: number;
  readonly failOn?: readonly StepLimit[];
  readonly json?: boolean;
  readonly html?: string;
}

export async function runStoreTrend(path: string, flags: TrendFlags): Promise<void> {
  const database = await StoreDatabase.open(StoreFolder.open(path));
  const trend = await trendOf(database, {
    project: flags.project,
    measure: flags.by ?? (await usualMeasure(database, flags.project)),
    last: flags.last,
    limits: flags.failOn ?? [],
    rules: new FrameRules({ own: flags.own, library: flags.library }),
  });
  if (flags.html !== undefined) {
    writePieces(flags.html, [trendHtml(trend)]);
    say(`${flags.html} written`);
  }
  if (flags.json === true) print(trendJson(trend));
  else {
    const screen = new Screen(screenOptions(flags, standardOutput()));
    printTrend(screen, trend);
    print(screen.text());
  }
  if (trend.failed.length > 0) process.exitCode = LIMIT_FAILED;
}

/**
 * Returns the first measure that a run of the project has: the peak, else a measure of all heaps, else one of
 * another tool.
 */
async function usualMeasure(database: StoreDatabase, project: string | undefined): Promise<FleetMeasure> {
  const usual = FLEET_MEASURES.filter(({ ofRuns }) => ofRuns !== undefined);
  const counts = usual.map(({ ofRuns }) => `count(${ofRuns})`).join(", ");
  const condition = project === undefined ? "" : ` where project = ${sqlText(project)}`;
  const [runCounts = []] = (await database.ask(`select ${counts} from runs${condition}`)).rows;
  return usual.find((_, at) => Number(runCounts[at]) > 0) ?? usual[0]!;
}

export async function runStoreQuery(
  path: string,
  sql: string,
  { json = false, csv = false }: { readonly json?: boolean; readonly csv?: boolean },
): Promise<void> {
  if (json && csv) throw new UserError("--json or --csv, not both");
  const answer = await (await StoreDatabase.open(StoreFolder.open(path))).askOnlyReading(sql);
  const format = json ? answerJson : csv ? answerCsv : answerText;
  print(format(answer));
}

function answerJson({ columns, rows }: Answer): string {
  return jsonText(
    rows.map((row) => Object.fromEntries(row.map((cell, index) => [columns[index], jsonCell(cell)]))),
  );
}

/** Converts a value for JSON. Integers beyond the range of doubles become text. */
function jsonCell(cell: Cell): unknown {
  if (typeof cell === "bigint") return Number.isSafeInteger(Number(cell)) ? Number(cell) : String(cell);
  if (cell instanceof Date) return cell.toISOString();
  if (Array.isArray(cell)) return cell.map((element) => jsonCell(element as Cell));
  if (typeof cell !== "object" || cell === null) return cell;
  return Object.fromEntries(Object.entries(cell).map(([name, member]) => [name, jsonCell(member as Cell)]));
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  const plain = jsonCell(cell);
  return typeof plain === "object" ? JSON.stringify(plain) : String(plain);
}

function answerCsv({ columns, rows }: Answer): string {
  return [columns, ...rows.map((row) => row.map(cellText))]
    .map((cells) => `${cells.map(csvCell).join(",")}\n`)
    .join("");
}

function answerText({ columns, rows }: Answer): string {
  const cells = rows.map((row) => row.map((cell) => printable(cellText(cell))));
  const widths = columns.map((name, index) =>
    Math.max(displayWidth(name), ...cells.map((row) => displayWidth(row[index]!))),
  );
  const isNumber = columns.map((_, index) =>
    rows.every((row) => ["number", "bigint"].includes(typeof row[index])),
  );
  const line = (row: readonly string[]) =>
    `${row
      .map((cell, index) =>
        isNumber[index] ? padLeft(cell, widths[index]!) : padRight(cell, widths[index]!),
      )
      .join("  ")
      .trimEnd()}\n`;
  return [columns, ...cells].map(line).join("");
}

export async function runStoreAdvise(
  path: string,
  flags: ScreenFlags & { readonly project?: string; readonly json?: boolean },
): Promise<void> {
  const database = await StoreDatabase.open(StoreFolder.open(path));
  const rules = new FrameRules({ own: flags.own, library: flags.library });
  const advice = await adviceOf(database, { project: flags.project, rules });
  if (flags.json === true) {
    print(adviceJson(advice));
    return;
  }
  const screen = new Screen(screenOptions(flags, standardOutput()));
  printAdvice(screen, advice);
  print(screen.text());
}

interface MergeFlags extends HotColdFlags {
  readonly output: string;
  readonly where?: string;
  readonly coldIn?: number;
  readonly fullSchema?: boolean;
  readonly memprofVersion: MemprofVersion;
}

export async function runStoreMerge(path: string, flags: MergeFlags): Promise<void> {
  const database = await StoreDatabase.open(StoreFolder.open(path));
  const schema = flags.fullSchema === true ? MIB_FIELDS : HOT_COLD_FIELDS;
  const { tables, runs, warmed, dropped } = await mergeStore(database, {
    where: flags.where,
    schema,
    coldIn: flags.coldIn,
    thresholds: thresholdsOf(flags),
  });
  const { chunks, contexts, functions } = writeMerged(tables, {
    version: flags.memprofVersion,
    container: CONTAINER,
    schema,
    order: "stored",
  });
  writePieces(flags.output, chunks);
  say(
    `${flags.output} written: ${counted(runs, "run")}, ${counted(contexts, "context")}, ${counted(functions, "function")}`,
  );
  const { dataAccess } = tables;
  if (flags.memprofVersion >= DATA_ACCESS_VERSION) sayDataAccess(dataAccess);
  else if (dataAccess !== undefined) sayDataAccessLeftOut(dataAccess);
  if (dropped > 0) say(`left out: ${counted(dropped, "context")} without a frame that has debug information`);
  if (flags.coldIn !== undefined)
    say(`${counted(warmed, "context")} cold in too few runs: not marked as cold`);
}

export async function runStoreCompact(
  path: string,
  { olderThan, keep }: { readonly olderThan?: number; readonly keep?: "rollup" },
): Promise<void> {
  if ((olderThan === undefined) !== (keep === undefined))
    throw new UserError("--older-than needs --keep, and --keep needs --older-than: give both");
  const { before, after, rolledUp } = await compactStore(StoreFolder.open(path), olderThan, Date.now());
  say(`${path}: ${counted(before, "file")} became ${after}`);
  if (rolledUp > 0)
    say(`${counted(rolledUp, "run")} older than ${counted(olderThan!, "day")} reduced to sums by build`);
}

export function runStoreSql(dialect: Dialect, store: string): void {
  print(createStatements(dialect, store));
}
