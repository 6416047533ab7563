import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FLEET_QUESTIONS } from "../../src/explain/fleet/statements.ts";
import { tableOf } from "../../src/profile/formats/parquet-store.ts";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { writeMadeUpStores } from "./made-up-store.ts";

const CLICKHOUSE = fileURLToPath(new URL("../../../../bench/clickhouse", import.meta.url));
const ENGINE = join(CLICKHOUSE, "node_modules", "@chdb", "lib-linux-x64-gnu");
const installed = existsSync(ENGINE);
if (!installed)
  console.warn(
    "SKIPPED: ClickHouse is not installed, questions are not compared with its rows (npm ci --prefix bench/clickhouse)",
  );

const started: ChildProcess[] = [];

interface Node {
  readonly port: number;
  readonly process: ChildProcess;
}

async function startNode(): Promise<Node> {
  const script = new URL("clickhouse-node.mjs", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ENGINE, newFolder()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once("data", (text) => resolve(Number(text)));
    child.once("exit", () => reject(new Error("ClickHouse did not start")));
  });
  return { port, process: child };
}

async function ask({ port }: Node, sql: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: sql });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

async function tablesOf(store: string): Promise<string[]> {
  const { stdout } = await memshade(["store", "sql", "clickhouse", "--store", store], { cwd: "/" });
  return stdout.split(/;\n/).filter((statement) => /^create /m.test(statement));
}

function ofNodes(statement: string, nodes: readonly Node[]): string {
  return statement.replace(
    /create table (\w+) \(([\s\S]*)\) engine = File\(.*\)/,
    (_, table, columns: string) => {
      const types = columns.replaceAll(/ comment '.*'/g, "");
      const parts = nodes.map(
        ({ port }) => `select * from url('http://127.0.0.1:${port}/${table}', TabSeparated, '${types}')`,
      );
      return `create view ${table} as ${parts.join(" union all ")}`;
    },
  );
}

/** Real numbers to 12 digits, because the last ones depend on the order of sums. Large 64-bit integers are returned as text. */
function cell(value: unknown): string {
  return typeof value === "number" && !Number.isSafeInteger(value) ? value.toPrecision(12) : String(value);
}

async function rowsOfClickHouse(node: Node, sql: string): Promise<string[][]> {
  const text = await ask(
    node,
    `${sql}\nsettings output_format_json_quote_64bit_integers = 1, http_max_tries = 1`,
  );
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).map(cell));
}

async function rowsOfDuckDb(store: string, sql: string): Promise<string[][]> {
  const { stdout, stderr } = await memshade(["store", "query", store, sql, "--json"], { cwd: "/" });
  expect(stderr).toBe("");
  return JSON.parse(stdout).map((row: object) => Object.values(row).map(cell));
}

function sorted(rows: readonly string[][]): string[] {
  return rows.map((row) => row.join(" ")).sort();
}

describe.skipIf(!installed)("ClickHouse", () => {
  const whole = join(newFolder(), "whole");
  const [left, right] = ["left", "right"].map((name) => join(newFolder(), name)) as [string, string];
  let alone: Node;
  let nodes: Node[];
  let both: Node;

  beforeAll(async () => {
    writeMadeUpStores([whole]);
    writeMadeUpStores([left, right]);
    [alone, both, ...nodes] = (await Promise.all([startNode(), startNode(), startNode(), startNode()])) as [
      Node,
      Node,
      Node,
      Node,
    ];
    for (const statement of await tablesOf(whole)) await ask(alone, statement);
    for (const [index, store] of [left, right].entries())
      for (const statement of await tablesOf(store)) await ask(nodes[index]!, statement);
    for (const statement of await tablesOf("unused")) await ask(both, ofNodes(statement, nodes));
  });

  afterAll(() => {
    for (const child of started) child.kill();
  });

  it.each(FLEET_QUESTIONS)(
    "gives the rows of DuckDB for $name, alone and with two nodes",
    async ({ text }) => {
      const expected = sorted(await rowsOfDuckDb(whole, text));
      expect(expected.length).toBeGreaterThan(0);
      expect(sorted(await rowsOfClickHouse(alone, text))).toEqual(expected);
      expect(sorted(await rowsOfClickHouse(both, text))).toEqual(expected);
    },
  );

  it("knows all columns of all tables that have rows", async () => {
    for (const table of ["runs", "metrics", "contexts", "frames"]) {
      const rows = await rowsOfClickHouse(alone, `select * from ${table} limit 1`);
      expect(rows[0]).toHaveLength(tableOf(table).columns.length);
    }
  });

  it("says so when a node is down, and does not answer with half of the rows", async () => {
    nodes[1]!.process.kill();
    await expect(rowsOfClickHouse(both, "select count(*) as n from metrics")).rejects.toThrow(
      /Connection refused/,
    );
  });
});
