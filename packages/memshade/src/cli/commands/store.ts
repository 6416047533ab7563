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
import { collect } from "./add-options.ts";
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

A store is a folder of Parquet files, one row per run and call path: any engine
that reads Parquet can query it. docs/fleet.md lists its tables. All commands
but add and sql need DuckDB: npm install @duckdb/node-api

memshade store COMMAND --help shows the options of a command.`;

export function addStoreCommand(program: Command): void {
  const store = program
    .command("store")
    .summary("keep many runs, and find the commit at which a measure grew")
    .description("Keeps many runs in a folder of Parquet files, and compares them build by build.")
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
    .description("Adds runs and MemProf profiles to a store. Runs that it already has are skipped.")
    .argument("<run...>", "run folders, profiles, folders with these, @files")
    .requiredOption("--to <store>", "folder of the store; created if missing")
    .option("--project <name>", "project of the runs", "default")
    .option("--build <name>", "the build that ran (default: the commit)")
    .option(
      "--commit <sha>",
      "commit that was built (default: GITHUB_SHA, CI_COMMIT_SHA, or the one checked out here)",
    )
    .option("--host <name>", "machine of the runs")
    .option("--label <key=value>", "any other property of the runs; can be repeated", collect, [])
    .option("--input <size>", "size of the input, for growth per input")
    .option("--force", "add runs again that the store already has")
    .option("--binary <exe>", "program, library or wasm module of raw profiles; can be repeated", collect, [])
    .option("--search <dir>", "folder with binaries, found by build id; can be repeated", collect, [])
    .action((runs: string[], flags) => runStoreAdd(runs, flags));
}

function addTrend(store: Command): void {
  const command = store
    .command("trend")
    .description(
      "Shows a measure build by build, and for each change the parts of the program that caused it.",
    )
    .argument("<store>", "folder of the store")
    .option("--project <name>", "project, if the store has several")
    .option(
      "--by <measure>",
      `${FLEET_MEASURES.map(({ key }) => key).join(", ")} (default: the first in the runs)`,
      (text) => measureOf(text),
    )
    .option(
      "--last <N>",
      "number of newest builds to show",
      (text) => parsePositive("--last", "builds", text),
      50,
    )
    .option(
      "--fail-on <limit>",
      "end with exit code 1 if a measure grows by more from build to build: peak+5%, bytes+1MiB; can be repeated",
      (text, previous: StepLimit[] = []) => [...previous, parseStepLimit(text)],
    );
  addShared(command, "json", "own", "library", "wide", "color")
    .option("--html <file>", "write the trend as an HTML page")
    .action((path: string, flags) => runStoreTrend(path, flags));
}

function addQuery(store: Command): void {
  store
    .command("query")
    .description("Runs an SQL query on a store.")
    .argument("<store>", "folder of the store")
    .argument("<sql>", "one SELECT statement")
    .option("--json", "write JSON: an array of rows")
    .option("--csv", "write CSV")
    .action((path: string, sql: string, flags) => runStoreQuery(path, sql, flags));
}

function addAdvise(store: Command): void {
  const command = store
    .command("advise")
    .description(
      "Advises on the layout of data: fields that no run reads, and blocks that all runs use together.",
    )
    .argument("<store>", "folder of the store")
    .option("--project <name>", "project, if the store has several");
  addShared(command, "json", "own", "library", "color").action((path: string, flags) =>
    runStoreAdvise(path, flags),
  );
}

function addMerge(store: Command): void {
  const command = store
    .command("merge")
    .description("Merges many runs into one MemProf profile, as memshade merge does with files.")
    .argument("<store>", "folder of the store")
    .requiredOption("-o, --output <file>", "indexed profile to write")
    .option("--where <condition>", "SQL condition that selects runs: \"build = 'b7' and host is not null\"")
    .option(
      "--cold-in <percent>",
      "share of its runs in which a context must be cold to stay cold, such as 95%",
      (text) => shareOf(text),
    )
    .option("--full-schema", "keep all fields of the blocks, not only those that the compiler needs")
    .option("--memprof-version <N>", "version of the profile: 2, 3, 4", (text) => versionOf(text), 3);
  addHotColdOptions(command).action((path: string, flags) => runStoreMerge(path, flags));
}

function addCompact(store: Command): void {
  store
    .command("compact")
    .description("Joins the small files of a store, and can reduce old runs to sums by build.")
    .argument("<store>", "folder of the store")
    .option("--older-than <days>", "reduce runs older than this, such as 30d", (text) => daysOf(text))
    .option("--keep <what>", "what is kept of them: rollup (sums by build)", (text) =>
      parseChoice("--keep", ["rollup"], text),
    )
    .action((path: string, flags) => runStoreCompact(path, flags));
}

function addSql(store: Command): void {
  store
    .command("sql")
    .description(
      "Prints SQL statements that create a store's tables in a database engine, and example queries.",
    )
    .argument("<engine>", DIALECTS.join(", "))
    .option("--store <path>", "folder of the store, as the engine reads it", "STORE")
    .action((engine: string, flags: { store: string }) =>
      runStoreSql(parseChoice("memshade store sql", DIALECTS, engine), flags.store),
    );
}

function measureOf(text: string): FleetMeasure {
  const isOffered = ({ id }: Measure) => FLEET_MEASURES.some(({ key }) => key === id);
  return findFleetMeasure(measureOfWord(text, "trend", { isOffered }).id)!;
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
