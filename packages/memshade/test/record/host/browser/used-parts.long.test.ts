import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { usedParts } from "../../../../src/record/host/browser/agent/table-reader.ts";
import { connectHost, type ShadowMemories } from "../../../../src/record/host/instance/host-calls.ts";
import { profileFiles, Recorder } from "../../../../src/record/host/run/recorder.ts";
import { type InstrumentedInfo, instrument } from "../../../../src/record/tools/index.ts";
import { type ToolOptions, toInstrumentOptions } from "../../../../src/record/tools/run-options.ts";
import type { MemoryRange } from "../../../../src/record/tools/unused-tables.ts";

const require = createRequire(import.meta.url);
const SQL_JS = dirname(require.resolve("sql.js"));
const ORIGINAL = new Uint8Array(readFileSync(join(SQL_JS, "sql-wasm.wasm")));

interface Database {
  exec(query: string): unknown;
  close(): void;
}

/** Runs SQLite, which frees a part of its memory; returns the tables and the module's own figures. */
async function work(tools: ToolOptions, rows: number) {
  const { bytes, info } = instrument(ORIGINAL, {
    ...toInstrumentOptions(tools),
    name: "sql.wasm",
    sharedShadow: true,
  });
  let memories: ShadowMemories = {};
  // The package caches a single instance, so the cache is cleared first.
  delete require.cache[require.resolve("sql.js")];
  const initSqlJs = require("sql.js") as (options: object) => Promise<{ Database: new () => Database }>;
  const SQL = await initSqlJs({
    instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) {
      const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), imports);
      memories = connectHost(instance.exports, info, { flush: () => {} });
      done(instance);
      return {};
    },
  });
  const [database, other] = [new SQL.Database(), new SQL.Database()];
  for (const each of [database, other]) each.exec("CREATE TABLE trip (city TEXT, price REAL)");
  for (let i = 0; i < rows; i++) database.exec(`INSERT INTO trip VALUES ('city ${i % 7}', ${i})`);
  database.exec("SELECT city, sum(price) FROM trip GROUP BY city");
  other.close();
  return { info, memories };
}

function copyOf(memory: WebAssembly.Memory, parts: readonly MemoryRange[]): WebAssembly.Memory {
  const pages = memory.buffer.byteLength / 65536;
  const copy = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  const [from, to] = [new Uint8Array(memory.buffer), new Uint8Array(copy.buffer)];
  for (const [start, end] of parts) to.set(from.subarray(start, end), start);
  return copy;
}

function filesOf(memories: ShadowMemories, info: InstrumentedInfo, tools: ToolOptions) {
  const recorder = new Recorder({ tools, command: ["sql"], program: "sql" });
  recorder.addInstance(memories, info, ORIGINAL, null);
  return profileFiles(recorder.takeProfile({ kind: "exit", exitCode: 0 }));
}

describe("the parts of tables that are used", () => {
  it.each<[what: string, tools: ToolOptions]>([
    ["the heap", {}],
    ["the heap with histograms", { exactHistogram: true }],
    ["the heap with small tables", { maxContexts: 40, maxBlocks: 300 }],
    ["waste", { tools: ["waste"] }],
    ["waste by contexts", { tools: ["heap", "waste"], waste: { contexts: true } }],
    ["waste in pairs", { tools: ["waste"], waste: { pairs: true } }],
    ["waste by objects", { tools: ["waste"], waste: { objects: true, contexts: true } }],
    ["working sets", { tools: ["workingset"] }],
    [
      "working sets with all that is told of them",
      {
        tools: ["heap", "workingset"],
        workingset: {
          interval: 100_000,
          attribution: { firstTouch: true, owners: true, fill: true },
          locality: { rate: 1 },
        },
      },
    ],
  ])("make the same profile of %s as whole tables", async (_what, tools) => {
    for (const rows of [0, 150]) {
      const { info, memories } = await work(tools, rows);
      const names = Object.keys(memories) as (keyof ShadowMemories)[];
      const copies = Object.fromEntries(
        names.map((name) => [name, copyOf(memories[name]!, usedParts(name, memories, info))]),
      ) as ShadowMemories;
      expect(names.length).toBeGreaterThan(0);
      expect(filesOf(copies, info, tools)).toEqual(filesOf(memories, info, tools));
    }
  });
});
