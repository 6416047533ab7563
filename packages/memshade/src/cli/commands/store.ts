import type { Command } from "commander";
import {
  FLEET_MEASURES,
  type FleetMeasure,
  findFleetMeasure,
  parseStepLimit,
  type StepLimit,
} from "../../explain/fleet/measures.ts";
import { measureOfWord } from "../../explain/measures/index.ts";
import type { Measure } from "../../explain/measures/measure.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import type { MemprofVersion } from "../../profile/formats/memprof-indexed/index.ts";
import { DIALECTS } from "../../store/create-statements.ts";
import { collect } from "../collect.ts";
import { addHotColdOptions } from "../hot-cold-options.ts";
import {
  runStoreAdd,
  runStoreAdvise,
  runStoreCompact,
  runStoreMerge,
  runStoreQuery,
  runStoreSql,
  runStoreTrend,
} from "../store/run-store.ts";
import { addShared, parseChoice, parsePositive } from "./report-options.ts";

const EXAMPLES = `
Examples:
  memshade store add --to fleet memshade.out/app.4711
  memshade store add --to fleet --project server --label host=a1 profiles/
  memshade store trend fleet --by bytes --fail-on bytes+5%
  memshade store query fleet "select build, peak_bytes from runs order by 2"
  memshade store merge fleet -o fleet.memprofdata --where "build = 'b7'"
  memshade store advise fleet
  memshade store compact fleet --older-than 30d --keep rollup
  memshade store sql clickhouse > fleet.sql

A store is a folder of Parquet files, one row per run and calling context: any
engine that reads Parquet can ask it. docs/fleet.md has its tables. All but add
and sql need DuckDB beside memshade: npm install @duckdb/node-api

memshade store VERB --help tells more about one of them.`;

export function addStoreCommand(program: Command): void {
  const store = program
    .command("store")
    .summary("keep many runs, and ask which commit made something grow")
    .description("Keeps many runs in a folder of Parquet files, and asks what became of them.")
    .addHelpText("after", EXAMPLES);
  addAdd(store);
  addTrend(store);
  addQuery(store);
  addAdvise(store);
  addMerge(store);
  addCompact(store);
  addSql(store);
}

function addAdd(store: Command): void {
  store
    .command("add")
    .description(
      "Adds runs, and profiles of MemProf, to a store; those that are there already change nothing.",
    )
    .argument("<run...>", "run folders, profiles, folders with such, @files")
    .requiredOption("--to <store>", "folder of the store; it is made if there is none")
    .option("--project <name>", "what the runs belong to", "default")
    .option("--build <name>", "the build that ran (default: the commit)")
    .option(
      "--commit <sha>",
      "commit that was built (default: GITHUB_SHA, CI_COMMIT_SHA, or that of this folder)",
    )
    .option("--host <name>", "machine that the runs were on")
    .option("--label <key=value>", "whatever else tells runs apart; can be repeated", collect, [])
    .option("--input <size>", "size of the input, for growth per input")
    .option("--force", "add runs that are there already once more")
    .option("--binary <exe>", "program, library or wasm module of raw profiles; can be repeated", collect, [])
    .option("--search <dir>", "folder with binaries, found by build id; can be repeated", collect, [])
    .action((runs: string[], flags) => runStoreAdd(runs, flags));
}

function addTrend(store: Command): void {
  const command = store
    .command("trend")
    .description("Shows a measure build by build, and for each step which parts of the program made it.")
    .argument("<store>", "folder of the store")
    .option("--project <name>", "which one, of several")
    .option(
      "--by <measure>",
      `${FLEET_MEASURES.map(({ key }) => key).join(", ")} (default: the first that runs know)`,
      (text) => measureOf(text),
    )
    .option(
      "--last <N>",
      "newest builds that are looked at",
      (text) => parsePositive("--last", "builds", text),
      50,
    )
    .option(
      "--fail-on <limit>",
      "end with 1 if a step grows by more, such as peak+5% or bytes+1MiB; can be repeated",
      (text, previous: StepLimit[] = []) => [...previous, parseStepLimit(text)],
    );
  addShared(command, "json", "own", "library", "wide", "color")
    .option("--html <file>", "write a page that shows it")
    .action((path: string, flags) => runStoreTrend(path, flags));
}

function addQuery(store: Command): void {
  store
    .command("query")
    .description("Asks a store in SQL; its tables are views.")
    .argument("<store>", "folder of the store")
    .argument("<sql>", "one statement that only reads")
    .option("--json", "write JSON: an array of rows")
    .option("--csv", "write CSV")
    .action((path: string, sql: string, flags) => runStoreQuery(path, sql, flags));
}

function addAdvise(store: Command): void {
  const command = store
    .command("advise")
    .description("Says how data should lie: fields that no run reads, and blocks that all runs use together.")
    .argument("<store>", "folder of the store")
    .option("--project <name>", "which one, of several");
  addShared(command, "json", "own", "library", "color").action((path: string, flags) =>
    runStoreAdvise(path, flags),
  );
}

function addMerge(store: Command): void {
  const command = store
    .command("merge")
    .description("Makes one MemProf profile of many runs, as memshade merge makes it of their files.")
    .argument("<store>", "folder of the store")
    .requiredOption("-o, --output <file>", "indexed profile to write")
    .option("--where <condition>", "which runs, in SQL: \"build = 'b7' and host is not null\"")
    .option(
      "--cold-in <percent>",
      "contexts stay cold only if they are in so many of their runs, such as 95%",
      (text) => shareOf(text),
    )
    .option("--full-schema", "keep all fields of the blocks, not only those that the compiler needs")
    .option("--memprof-version <N>", "version of the profile: 2, 3, 4", (text) => versionOf(text), 3);
  addHotColdOptions(command).action((path: string, flags) => runStoreMerge(path, flags));
}

function addCompact(store: Command): void {
  store
    .command("compact")
    .description("Joins the small files of a store; old runs can be left as sums by build.")
    .argument("<store>", "folder of the store")
    .option("--older-than <days>", "runs that are so old go, such as 30d", (text) => daysOf(text))
    .option("--keep <what>", "what stays of them: rollup", (text) => parseChoice("--keep", ["rollup"], text))
    .action((path: string, flags) => runStoreCompact(path, flags));
}

function addSql(store: Command): void {
  store
    .command("sql")
    .description(
      "Prints statements that make a store's tables known to an engine, and the questions as text.",
    )
    .argument("<engine>", DIALECTS.join(", "))
    .option("--store <path>", "folder of the store, as the engine sees it", "STORE")
    .action((engine: string, flags: { store: string }) =>
      runStoreSql(parseChoice("memshade store sql", DIALECTS, engine), flags.store),
    );
}

function measureOf(text: string): FleetMeasure {
  const isOffered = ({ id }: Measure) => FLEET_MEASURES.some(({ key }) => key === id);
  return findFleetMeasure(measureOfWord(text, "trend", "--by", { isOffered }).id)!;
}

function shareOf(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  if (number === undefined || Number(number) > 100)
    throw new UserError(`--cold-in takes a part of the runs such as 95%, not "${text}"`);
  return Number(number) / 100;
}

function daysOf(text: string): number {
  const [, number] = /^(\d+)d$/.exec(text) ?? [];
  if (number === undefined) throw new UserError(`--older-than takes days such as 30d, not "${text}"`);
  return Number(number);
}

function versionOf(text: string): MemprofVersion {
  return Number(parseChoice("--memprof-version", ["2", "3", "4"], text)) as MemprofVersion;
}
