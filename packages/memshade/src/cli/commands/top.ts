import fs from "node:fs";
import path from "node:path";
import type { Command } from "commander";
import { GROUPINGS, type GroupBy } from "../../analyses/groups.ts";
import { knownMetrics, METRICS, type MetricKey } from "../../analyses/metrics.ts";
import { OBJECT_KEYS, type ObjectKey } from "../../analyses/objects/rank.ts";
import { STATIC_KEYS, type StaticKey } from "../../analyses/statics/rank-statics.ts";
import type { PairTable } from "../../analyses/waste/pairs.ts";
import { WASTE_KEYS, type WasteKey } from "../../analyses/waste/rank-sites.ts";
import { WORKING_SET_KEYS, type WorkingSetKey } from "../../analyses/working-set/rank.ts";
import { UserError } from "../../bytes/errors.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import { objectsTopJson } from "../../report/json/objects-top.ts";
import { staticTopJson } from "../../report/json/static-data.ts";
import { topJson } from "../../report/json/top.ts";
import { wastePairsJson, wasteTopJson } from "../../report/json/waste.ts";
import { workingSetTopJson } from "../../report/json/working-set-top.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { staticTable } from "../../report/terminal/heap/static-data.ts";
import { topTable } from "../../report/terminal/heap/top-table.ts";
import { objectsTable } from "../../report/terminal/objects/objects-table.ts";
import { wastePairs } from "../../report/terminal/waste/waste-pairs.ts";
import { wasteTable } from "../../report/terminal/waste/waste-table.ts";
import { workingSetTable } from "../../report/terminal/working-set/working-set-table.ts";
import { hasHeap, loadHeap } from "../../runs/heap.ts";
import { hasObjects, loadObjects } from "../../runs/objects.ts";
import { loadStatics } from "../../runs/statics.ts";
import { loadWaste } from "../../runs/waste.ts";
import { hasWorkingSet, loadWorkingSet } from "../../runs/working-set.ts";
import { chosenRun } from "../chosen-run.ts";
import {
  addShared,
  isOtherWord,
  OTHER_WORDS,
  type OtherWord,
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
const METRIC_KEYS = METRICS.map(({ key }) => key);
/** Tables of pairs by the key that shows them. */
const PAIR_TABLES = {
  "dead-pairs": "dead",
  "silent-pairs": "silent",
  "redundant-pairs": "redundant",
} as const satisfies Record<string, PairTable>;
type PairKey = keyof typeof PAIR_TABLES;
const PAIR_KEYS = Object.keys(PAIR_TABLES) as PairKey[];
type TopKey = MetricKey | StaticKey | WasteKey | PairKey | WorkingSetKey | ObjectKey;
const KEYS: readonly TopKey[] = [
  ...METRIC_KEYS,
  ...STATIC_KEYS,
  ...WASTE_KEYS,
  ...PAIR_KEYS,
  ...WORKING_SET_KEYS,
  ...OBJECT_KEYS,
];

const KEYS_BY_TOOL = [
  `heap: ${METRIC_KEYS.join(", ")}, or ${Object.keys(OTHER_WORDS).join(", ")}`,
  `static data: ${STATIC_KEYS.join(", ")}`,
  `waste: ${[...WASTE_KEYS, ...PAIR_KEYS].join(", ")}`,
  `working set: ${WORKING_SET_KEYS.join(", ")}`,
  `objects: ${OBJECT_KEYS.join(", ")}`,
].join("; ");

export interface TopOptions extends ReadFlags {
  /** Left out, it is what the run was recorded for: `usualKey`. */
  readonly by?: TopKey | OtherWord | undefined;
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
  memshade top memshade.out/app.4711 --by unread-data
      tables and variables that nobody reads
  memshade top memshade.out/app.4711 --by dead
      stores whose bytes nobody reads (run with --tool waste)
  memshade top memshade.out/app.4711 --by dead-pairs
      and what ended them (--tool waste --pairs)
  memshade top memshade.out/app.4711 --by misses
      instructions that miss (--tool workingset --locality)
  memshade top memshade.out/app.4711 --by lines
      functions with large working sets (--tool workingset)
  memshade top memshade.out/app.4711 --by new --group path
      what went on when the program touched new lines (--tool workingset)
  memshade top memshade.out/app.4711 --by share
      who allocated what it works on (--tool workingset --who)
  memshade top memshade.out/app.4711 --by first-touch
      who brings lines in (--tool workingset --who)
  memshade top memshade.out/app.4711 --by fill
      where lines are touched for few of their bytes (--tool workingset --who)
  memshade top memshade.out/app.4711 --by object-bytes
      who makes garbage-collected objects (--tool objects)`;

/** Adds `memshade top` to the program. Its action throws UserError for mistakes of the user. */
export function addTopCommand(program: Command): void {
  const command = program
    .command("top")
    .summary("rank the allocation sites, wasteful accesses or cache misses of a recorded run")
    .description("Ranks the allocation sites of a recorded run.")
    .argument("[run]", `${RUN_ARGUMENT} (default: the newest run in memshade.out)`)
    .option("--by <key>", `${KEYS_BY_TOOL} (default: bytes, or what the run has)`, parseKey)
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option("--reverse", "smallest first");
  addShared(command, "wide", "lines", ...READ_OPTIONS, "json", "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: TopOptions) => {
      const input = await chosenRun(named);
      process.stdout.write(await runTop(input, options, standardOutput()));
    });
}

function parseKey(text: string): TopKey | OtherWord {
  return isOtherWord(text) ? text : parseChoice("--by", KEYS, text);
}

/** The options with a key in the place of another word for it. */
function withKey(input: string, options: TopOptions): TopOptions & { readonly by: TopKey } {
  const { by = usualKey(input), reverse = false } = options;
  if (!isOtherWord(by)) return { ...options, by };
  // Unused is what has least of it.
  return { ...options, by: OTHER_WORDS[by], reverse: reverse !== (by === "unused") };
}

/** The text that `memshade top` prints. */
export async function runTop(input: string, given: TopOptions, terminal: Terminal): Promise<string> {
  const options = withKey(input, given);
  const { by, group, rows } = options;
  const wasteKey = WASTE_KEYS.find((key) => key === by);
  if (wasteKey !== undefined) return topWaste(input, wasteKey, options, terminal);
  const pairKey = PAIR_KEYS.find((key) => key === by);
  if (pairKey !== undefined) return topPairs(input, pairKey, options, terminal);
  const staticKey = STATIC_KEYS.find((key) => key === by);
  if (staticKey !== undefined) return topStatics(input, staticKey, options, terminal);
  const workingSetKey = WORKING_SET_KEYS.find((key) => key === by);
  if (workingSetKey !== undefined) return topWorkingSet(input, workingSetKey, options, terminal);
  const objectKey = OBJECT_KEYS.find((key) => key === by);
  if (objectKey !== undefined) return topObjects(input, objectKey, options, terminal);
  if (isRunWithout(hasHeap, input)) {
    const usual = usualKey(input);
    const other = usual === "bytes" ? "" : `; without --by it is ranked by ${usual}`;
    throw new UserError(
      `--by ${by} needs a run that was recorded with --tool heap: ${input} is none${other}`,
    );
  }
  const { profile } = await loadHeap(input, readOptions(options));
  const ranking = {
    by: by as MetricKey,
    group,
    rows,
    order: options.reverse ? "smallest" : "largest",
  } as const;
  const text = options.json
    ? topJson(profile, { ...ranking, input })
    : topTable(profile, { ...ranking, ...screenOptions(options, terminal) });
  if (text === undefined) {
    if (fs.existsSync(path.join(input, "run.json")))
      throw new UserError(
        `--by ${by} needs a run that was recorded with --tool heap: no accesses were counted in ${input}`,
      );
    const { importedFrom } = profile.description;
    if (importedFrom !== undefined)
      throw new UserError(
        `--by ${by} is not known: ${input}, of ${importedFrom}, does not have it; it has ${knownMetrics(profile).join(", ")}`,
      );
    throw new UserError(
      by === "peak" || by === "live"
        ? `--by ${by} needs a run: ${input} is a profile without its run.json`
        : `--by ${by} is not known: the blocks in ${input} have no numbers of accesses (merge with --full-schema keeps them)`,
    );
  }
  return text;
}

/** Whether it is a run's folder, and its tool was not asked for. */
function isRunWithout(has: (input: string) => boolean, input: string): boolean {
  return fs.existsSync(path.join(input, "run.json")) && !has(input);
}

/** What a run is ranked by where nobody says it: the first of its tools that it was recorded with. */
function usualKey(input: string): TopKey {
  if (!isRunWithout(hasHeap, input)) return "bytes";
  if (hasWorkingSet(input)) return "lines";
  if (hasObjects(input)) return "object-bytes";
  return loadWaste(input) === undefined ? "bytes" : "dead";
}

function topStatics(input: string, by: StaticKey, options: TopOptions, terminal: Terminal): string {
  const statics = isRunWithout(hasHeap, input)
    ? undefined
    : loadStatics(input, { binaryPaths: options.binaryPath });
  if (statics === undefined)
    throw new UserError(
      `--by ${by} needs a run that was recorded with --tool heap, of a module whose data has fixed addresses: ${input} is none`,
    );
  const order = options.reverse ? ("smallest" as const) : ("largest" as const);
  return options.json
    ? staticTopJson(statics, { input, by, order, rows: options.rows })
    : staticTable(statics, { ...screenOptions(options, terminal), by, order, rows: options.rows });
}

function topWaste(input: string, by: WasteKey, options: TopOptions, terminal: Terminal): string {
  const waste = wasteFor(input, by, options);
  const order = options.reverse ? ("smallest" as const) : ("largest" as const);
  const screen = screenOptions(options, terminal);
  return options.json
    ? wasteTopJson(waste, { input, by, order, rows: options.rows })
    : wasteTable(waste, { ...screen, by, order, rows: options.rows });
}

function topPairs(input: string, by: PairKey, options: TopOptions, terminal: Terminal): string {
  const waste = wasteFor(input, by, options);
  if (waste.pairs === undefined)
    throw new UserError(
      `--by ${by} needs a run of a WebAssembly program that was recorded with --tool waste --pairs: ${input} is none`,
    );
  if (options.reverse) throw new UserError(`--by ${by} shows most bytes first only: leave out --reverse`);
  const [table, { rows }] = [PAIR_TABLES[by], options];
  const screen = screenOptions(options, terminal);
  return options.json
    ? wastePairsJson(waste, { input, table, rows })
    : wastePairs(waste, { ...screen, table, rows });
}

function wasteFor(input: string, by: string, options: TopOptions): WasteFile {
  const waste = loadWaste(input, readOptions(options));
  if (waste === undefined)
    throw new UserError(`--by ${by} needs a run that was recorded with --tool waste: ${input} is none`);
  return waste;
}

/** What a run must have been recorded with for keys of working sets. */
const NEEDED: Readonly<Record<WorkingSetKey, string>> = {
  lines: "",
  new: "",
  "first-touch": "--who",
  share: "--who",
  fill: "--who",
  misses: "--locality",
  cold: "--locality",
};

function topWorkingSet(input: string, by: WorkingSetKey, options: TopOptions, terminal: Terminal): string {
  if (options.group === "path" && (by === "misses" || by === "cold"))
    throw new UserError(`--by ${by} knows no call paths: --group takes one of site, function with it`);
  const needed = NEEDED[by] === "" ? "--tool workingset" : `--tool workingset ${NEEDED[by]}`;
  const missing = `--by ${by} needs a run that was recorded with ${needed}: ${input} is none`;
  if (isRunWithout(hasWorkingSet, input)) throw new UserError(missing);
  const profile = loadWorkingSet(input, readOptions(options));
  const order = options.reverse ? ("smallest" as const) : ("largest" as const);
  const ranking = { by, order, rows: options.rows, group: options.group };
  const text = options.json
    ? workingSetTopJson(profile, { ...ranking, input })
    : workingSetTable(profile, {
        ...ranking,
        ...screenOptions(options, terminal),
      });
  if (text === undefined) {
    const { owners, firstTouch } = profile.options;
    const isShareAlone = owners === true && !firstTouch && NEEDED[by] === "--who";
    throw new UserError(
      isShareAlone ? `--by ${by}: of native programs, --who tells owners alone (--by share)` : missing,
    );
  }
  return text;
}

function topObjects(input: string, by: ObjectKey, options: TopOptions, terminal: Terminal): string {
  const needed = `--tool objects${by === "in-use" ? ", without --sample-bytes 0" : ""}`;
  const missing = `--by ${by} needs a run that was recorded with ${needed}: ${input} is none`;
  if (isRunWithout(hasObjects, input)) throw new UserError(missing);
  const profile = loadObjects(input, readOptions(options));
  if (by === "in-use" && profile.sampleBytes === 0) throw new UserError(missing);
  const order = options.reverse ? ("smallest" as const) : ("largest" as const);
  const ranking = { by, order, rows: options.rows, group: options.group };
  return options.json
    ? objectsTopJson(profile, { ...ranking, input })
    : objectsTable(profile, { ...ranking, ...screenOptions(options, terminal) });
}
