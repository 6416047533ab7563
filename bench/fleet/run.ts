// Measures queries to a large store: `node bench/fleet/run.ts [RUNS] [CONTEXTS]` makes a store of generated runs in a temporary folder, and
// queries it as a user would. Times are of whole commands; memory is their peak.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import {
  STORE_SCHEMA,
  STORE_VERSION,
  tableOf,
  writeTable,
} from "../../packages/memshade/src/profile/formats/parquet-store.ts";
import { contextKey, frameKey, functionsKey, siteKey } from "../../packages/memshade/src/store/keys.ts";

const MEMSHADE = new URL("../../packages/memshade/bin/memshade.js", import.meta.url).pathname;
const [runs, contexts] = process.argv.slice(2).map(Number);
const RUNS = runs ?? 10_020;
const CONTEXTS = contexts ?? 2000;
const RUNS_PER_BUILD = 20;
const DEPTH = 12;

/** A number per run that serves as a key of its own. */
const RUN_KEY = "r.range * 7919 + 17";

function writeContexts(store: string): void {
  const frames = Array.from({ length: CONTEXTS + DEPTH }, (_, index) => ({
    guid: BigInt(index + 1) * 0x9e3779b97f4an,
    lineOffset: index % 50,
    column: 3,
    inline: false,
    name: `function${index}`,
  }));
  const keys = frames.map(frameKey);
  const rows = Array.from({ length: CONTEXTS }, (_, index) => {
    const path = Array.from({ length: DEPTH }, (_, depth) => index + depth);
    return {
      ctx: contextKey(path.map((at) => keys[at]!)),
      ctx_functions: functionsKey(path.map((at) => frames[at]!.guid)),
      site: siteKey(frames[index]!),
      frames: path.map((at) => keys[at]!),
    };
  });
  const frameRows = frames.map(({ guid, lineOffset, column, inline, name }, index) => ({
    frame: keys[index]!,
    guid,
    line_offset: lineOffset,
    column,
    inline,
    function_name: name,
    file_name: "made-up.cc",
    line: index + lineOffset,
  }));
  for (const [table, of] of [
    ["contexts", rows],
    ["frames", frameRows],
  ] as const) {
    mkdirSync(join(store, table));
    writeFileSync(join(store, table, "0.parquet"), writeTable(tableOf(table), of));
  }
}

async function writeRuns(store: string): Promise<void> {
  const connection = await (await DuckDBInstance.create(":memory:", { memory_limit: "2GB" })).connect();
  const place = "'made-up' as project, '2026-11-24' as day";
  const build = `'b' || lpad(((r.range // ${RUNS_PER_BUILD})::int)::varchar, 5, '0')`;
  const time = `timestamp '2026-01-01' + to_seconds(r.range // ${RUNS_PER_BUILD} * 3600)`;
  for (const table of ["runs", "metrics"])
    mkdirSync(join(store, table, "project=made-up/day=2026-11-24"), { recursive: true });
  const typed = (table: string) =>
    tableOf(table)
      .columns.map(({ name }) => `"${name}"`)
      .join(", ");
  const values: Record<string, string> = {
    run: RUN_KEY,
    program: "'made-up'",
    build,
    commit_id: build,
    commit_time: time,
    started: time,
    added: time,
    host: "null::varchar",
    labels: "'{}'",
    clock: "'ms'",
    tool_version: "''",
    sampled: "false",
    fields_known: `${2 ** 25 - 1}`,
    derived_calls: "true",
    allocated_bytes: "(hash(r.range) % 100000 + 10000000)::bigint",
    input_size: "null::double",
  };
  const runColumns = tableOf("runs").columns.map(({ name }) =>
    name === "project" || name === "day"
      ? `${name === "project" ? "'made-up'" : "'2026-11-24'"} as ${name}`
      : `${values[name] ?? "null::bigint"} as ${name}`,
  );
  await connection.run(
    `copy (select ${runColumns.join(", ")} from range(${RUNS}) as r) to '${store}/runs/project=made-up/day=2026-11-24/0.parquet' (format parquet)`,
  );
  await connection.run(
    `create table contexts as select row_number() over () - 1 as i, * from read_parquet('${store}/contexts/0.parquet')`,
  );
  const figures = tableOf("metrics").columns.map(({ name }) => {
    if (name === "run") return `${RUN_KEY} as run`;
    if (["project", "day"].includes(name)) return "";
    if (name === "ctx" || name === "site") return `c.${name} as ${name}`;
    return `(hash(r.range * 4093 + c.i, ${name.length}) % 1000 + c.i)::bigint as ${name}`;
  });
  const PART = 500;
  for (let from = 0, part = 0; from < RUNS; from += PART, part++) {
    const select = `select ${[place, ...figures.filter((text) => text !== "")].join(", ")} from range(${from}, ${Math.min(RUNS, from + PART)}) as r, contexts as c`;
    await connection.run(
      `copy (select ${typed("metrics")} from (${select}) order by run) to '${store}/metrics/project=made-up/day=2026-11-24/${part}.parquet' (format parquet)`,
    );
  }
}

function ask(name: string, args: readonly string[]): void {
  const command = [
    "-f",
    "%e s, %U s of CPU, %M KiB",
    process.execPath,
    "--no-warnings",
    MEMSHADE,
    "store",
    ...args,
  ];
  const { stderr, status } = spawnSync("time", command, { encoding: "utf8" });
  console.log(
    `${name}: ${stderr.trim().split("\n").at(-1)}${status === 0 ? "" : ` (ended with ${status}: ${stderr.trim()})`}`,
  );
}

const store = mkdtempSync(join(tmpdir(), "memshade-fleet-"));
try {
  writeFileSync(
    join(store, "memshade-store.json"),
    JSON.stringify({ schema: STORE_SCHEMA, version: STORE_VERSION }),
  );
  writeContexts(store);
  await writeRuns(store);
  console.log(`${RUNS} runs of ${CONTEXTS} contexts`);
  ask("first question", ["query", store, "select count(*) from runs"]);
  ask("merge", ["merge", store, "-o", join(store, "out.memprofdata")]);
  ask("trend of 50 builds", ["trend", store, "--by", "bytes"]);
  ask("trend of all builds", ["trend", store, "--by", "bytes", "--last", String(RUNS)]);
} finally {
  rmSync(store, { recursive: true, force: true });
}
