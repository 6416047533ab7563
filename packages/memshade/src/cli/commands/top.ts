import fs from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { GROUPINGS, type GroupBy } from "../../explain/analyses/groups.ts";
import { type PairTable, rankPairs } from "../../explain/analyses/waste.ts";
import {
  findMeasure,
  isMeasured,
  isReversed,
  knownMeasures,
  measureOfWord,
  recordedWith,
} from "../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles } from "../../explain/measures/measure.ts";
import { rankMeasure } from "../../explain/measures/ranking.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { knowsField } from "../../profile/model/known-fields.ts";
import { assertProfile, loadPart, recordedTools } from "../../runs/recorded-tools.ts";
import { SHELVES } from "../../runs/shelves.ts";
import { pairsJson, topJson } from "../../show/report/json/top.ts";
import type { ColorChoice } from "../../show/report/terminal/common/paint.ts";
import { pairTable, topTable } from "../../show/report/terminal/common/top-table.ts";
import { chosenRun } from "../chosen-run.ts";
import { print } from "../line-input.ts";
import {
  addShared,
  measuresByTool,
  parseChoice,
  parseRows,
  READ_OPTIONS,
  type ReadFlags,
  RUN_ARGUMENT,
  readOptions,
  screenOptions,
  standardOutput,
  type Terminal,
} from "./report-options.ts";

const USUAL_ROWS = 20;

/** Tables of pairs, by their words for `--by`. */
const PAIRS: Readonly<Record<string, { readonly table: PairTable; readonly title: string }>> = {
  "dead-pairs": { table: "dead", title: "Dead stores and what ended them" },
  "silent-pairs": { table: "silent", title: "Silent stores and who stored before" },
  "redundant-pairs": { table: "redundant", title: "Redundant loads and who loaded before" },
};

export interface TopOptions extends ReadFlags {
  /** Default: the first measure that the run has. */
  readonly by?: string | undefined;
  readonly group: GroupBy;
  readonly rows: number;
  readonly reverse?: boolean | undefined;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
}

const EXAMPLES = `
Examples:
  memshade top --by leak                 of the newest run in memshade.out
  memshade top memshade.out/app.4711 --by peak -n 5
  memshade top memshade.out/app.4711 --by temporary --group path
  memshade top memshade.out/app.4711 --by accesses --json > sites.json
  memshade top memshade.out/app.4711 --by static-unread
      tables and variables that are never read
  memshade top memshade.out/app.4711 --by dead
      stores whose bytes are never read (run with --tool waste)
  memshade top memshade.out/app.4711 --by dead-pairs
      dead stores with the stores that overwrote them (--tool waste --pairs)
  memshade top memshade.out/app.4711 --by misses
      instructions that miss (--tool workingset --locality)
  memshade top memshade.out/app.4711 --by workingset --group function
      functions with large working sets (--tool workingset)
  memshade top memshade.out/app.4711 --by new --group path
      calls during which new lines were touched (--tool workingset)
  memshade top memshade.out/app.4711 --by share
      allocation sites of the working set (--tool workingset --who)
  memshade top memshade.out/app.4711 --by first-touch
      code that touches lines first (--tool workingset --who)
  memshade top memshade.out/app.4711 --by fill
      code that uses few bytes of the lines it touches (--tool workingset --who)
  memshade top memshade.out/app.4711 --by object-bytes
      code that makes garbage-collected objects (--tool objects)`;

export function addTopCommand(program: Command): void {
  const keys = [...measuresByTool(() => true, "top"), `pairs: ${Object.keys(PAIRS).join(", ")}`].join("; ");
  const command = program
    .command("top")
    .summary("rank the sites of a recorded run by a measure")
    .description(
      "Ranks the sites of a recorded run by a measure: bytes allocated, dead stores, cache misses, objects and others.",
    )
    .argument("[run]", `${RUN_ARGUMENT} (default: the newest run in memshade.out)`)
    .option("--by <key>", `${keys} (default: the first in the run)`, parseKey)
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option("--reverse", "smallest first");
  addShared(command, "wide", "lines", ...READ_OPTIONS, "json", "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: TopOptions) => {
      const input = await chosenRun(named);
      print(await runTop(input, options, standardOutput()));
    });
}

function parseKey(text: string): string {
  if (!Object.hasOwn(PAIRS, text)) measureOfWord(text, "top");
  return text;
}

export async function runTop(input: string, options: TopOptions, terminal: Terminal): Promise<string> {
  const { by, group, rows, reverse = false, json } = options;
  if (by !== undefined && Object.hasOwn(PAIRS, by)) return topPairs(input, by, options, terminal);
  const recorded = recordedTools(input);
  const tool = by === undefined ? recorded.find(isMeasured) : recordedWith(measureOfTop(by).tool);
  if (tool === undefined) throw new UserError(`${input} has only samples: memshade tree shows them`);
  if (by !== undefined && !recorded.includes(tool)) throw await lackingTool(by, input);
  const part = by === undefined ? tool : measureOfTop(by).tool;
  const profiles = await loadPart(input, part, readOptions(options));
  const measure = by === undefined ? knownMeasures(tool, profiles)[0] : measureOfTop(by);
  const unknown = measure?.unknown?.(profiles);
  if (unknown !== undefined) throw new UserError(`--by ${measure!.id} is unknown for ${input}: ${unknown}`);
  const isFirstLast = by !== undefined && isReversed(measure!, by, "top") !== reverse;
  const order = (by === undefined ? reverse : isFirstLast) ? "smallest" : "largest";
  const ranking = measure && rankMeasure(measure, profiles, group, order);
  if (ranking === undefined) throw lacking(by ?? "bytes", input, profiles);
  return json
    ? topJson(ranking, profiles, { input, rows })
    : topTable(ranking, profiles, { ...screenOptions(options, terminal), rows });
}

function measureOfTop(word: string): Measure {
  return findMeasure(word, "top")!;
}

async function lackingTool(word: string, input: string): Promise<UserError> {
  await assertProfile(input);
  return lacking(word, input);
}

/** Returns an error with the requirements of a ranking and the measures that the run has instead. */
function lacking(word: string, input: string, profiles?: MeasuredProfiles): UserError {
  const { tool, needs, needsForPlaces } = measureOfTop(Object.hasOwn(PAIRS, word) ? "dead" : word);
  const needed =
    needsForPlaces === undefined || profiles === undefined ? needs : `${needs}, and ${needsForPlaces}`;
  const has =
    profiles === undefined
      ? `has ${recordedTools(input).join(", ")}`
      : `has ${
          knownMeasures(tool, profiles)
            .map(({ id }) => id)
            .join(", ") || "nothing of that tool"
        }`;
  const hint = isMerged(input, profiles) ? "; merge with --full-schema keeps numbers of accesses" : "";
  return new UserError(`--by ${word} needs ${needed}: ${input} ${has}${hint}`);
}

/** True if it is a MemProf profile that lost its accesses when it was merged. */
function isMerged(input: string, { heap }: MeasuredProfiles = {}): boolean {
  return (
    heap !== undefined &&
    heap.description.importedFrom === undefined &&
    !knowsField(heap, "totalAccessCount") &&
    !fs.existsSync(join(input, "run.json"))
  );
}

async function topPairs(input: string, by: string, options: TopOptions, terminal: Terminal): Promise<string> {
  const { table, title } = PAIRS[by]!;
  const { rows, json, reverse } = options;
  if (!SHELVES.waste.isIn(input)) throw await lackingTool(by, input);
  const { waste } = await loadPart(input, "waste", readOptions(options));
  if (waste!.pairs === undefined)
    throw new UserError(
      `--by ${by} needs a run of a WebAssembly program with --tool waste --pairs: ${input} is not such a run`,
    );
  if (reverse === true) throw new UserError(`--by ${by} cannot be reversed: leave out --reverse`);
  const pairs = rankPairs(waste!, table);
  const { notTracked } = waste!;
  return json
    ? pairsJson(pairs, { input, by, rows, notTracked })
    : pairTable(title, pairs, notTracked, { ...screenOptions(options, terminal), rows });
}
