import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type MeasuredProfiles, measuresOf, type ToolMeasures } from "../../src/explain/measures/measure.ts";
import {
  type MeasuredTool,
  type RecordingTool,
  RowCollector,
} from "../../src/explain/measures/measured-stacks.ts";
import type { ToolShelf } from "../../src/runs/shelves.ts";
import { newFolder } from "../cli/support/command-line.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

interface Pool {
  readonly blocks: readonly {
    readonly path: readonly string[];
    readonly count: number;
    readonly bytes: number;
  }[];
  readonly notTracked: readonly string[];
}

const FILE = "pool.json";
const TOOL = "pool" as RecordingTool;
const poolOf = (run: object) => (run as { readonly pool?: Pool }).pool;

function column(of: (pool: Pool) => number[]) {
  return (profile: unknown) => ({ amounts: of(profile as Pool) });
}

const POOL: ToolMeasures & ToolShelf = {
  tool: TOOL as MeasuredTool,
  name: "pool",
  whole: "the pool",
  option: "--tool pool",
  recordedWith: TOOL,
  first: ["pool-bytes"],
  gaps: (run: MeasuredProfiles) => poolOf(run)?.notTracked ?? [],
  stacks(run) {
    const pool = poolOf(run);
    if (pool === undefined) return undefined;
    const collector = new RowCollector();
    for (const { path } of pool.blocks)
      collector.add(path.map((name) => ({ function: name, file: `${name}.c`, line: 7 })));
    return { tool: TOOL, name: "pool", modules: [], ...collector.finish(), gaps: [], notes: [] };
  },
  measures: measuresOf(TOOL, { needs: "a run with --tool pool" }, [
    {
      id: "pool-bytes",
      unit: "bytes",
      head: "POOLED",
      title: "bytes from the pool",
      meaning: "bytes of blocks of the pool",
      explainedBy: "block",
      figures: [],
      partOf: "pool-bytes",
      beside: ["pool-blocks"],
      column: column(({ blocks }) => blocks.map(({ bytes }) => bytes)),
    },
    {
      id: "pool-blocks",
      unit: "blocks",
      head: "BLOCKS",
      title: "blocks from the pool",
      meaning: "blocks of the pool",
      explainedBy: "block",
      figures: [],
      partOf: "pool-blocks",
      column: column(({ blocks }) => blocks.map(({ count }) => count)),
    },
  ]),
  isIn: (input) => existsSync(join(input, FILE)),
  parts: { [TOOL]: (input: string) => JSON.parse(readFileSync(join(input, FILE), "utf8")) },
};

const TABLES = {
  measures: "../../src/explain/measures/tools.ts",
  shelves: "../../src/runs/shelves.ts",
} as const;

const folder = newFolder();
const plain = { color: "never", rows: 10, group: "site" } as const;
const terminal = { isTerminal: false, environment: {} };

// Views read the tables when they are loaded. They are reloaded here, and again for later tests of this process.
beforeAll(() => {
  vi.resetModules();
  vi.doMock(TABLES.measures, async (load) => {
    const { TOOLS } = await load<typeof import("../../src/explain/measures/tools.ts")>();
    return { TOOLS: { ...TOOLS, pool: POOL } };
  });
  vi.doMock(TABLES.shelves, async (load) => {
    const { SHELVES } = await load<typeof import("../../src/runs/shelves.ts")>();
    return { SHELVES: { ...SHELVES, pool: POOL } };
  });
  writePicture(folder, heapPicture("main > parse  3 x 16  live 1"));
  const blocks = [
    { path: ["carve", "main"], count: 2, bytes: 4096 },
    { path: ["refill", "main"], count: 1, bytes: 512 },
  ];
  writeFileSync(join(folder, FILE), JSON.stringify({ blocks, notTracked: ["Threads were not followed."] }));
});
afterAll(() => {
  for (const table of Object.values(TABLES)) vi.doUnmock(table);
  vi.resetModules();
});

it("is found beside the heap", async () => {
  const { recordedTools } = await import("../../src/runs/recorded-tools.ts");
  expect(recordedTools(folder)).toEqual(["heap", "pool"]);
});

it("is ranked by top, as text and as JSON", async () => {
  const { runTop } = await import("../../src/cli/commands/top.ts");
  const text = await runTop(folder, { ...plain, by: "pool-bytes" }, terminal);
  expect(text).toContain("Most bytes from the pool");
  expect(text).toMatch(/4.00 KiB +88.9 % +2 {2}carve \(carve\.c:7\)\n.*512 B +11.1 % +1 {2}refill/);
  expect(text).toContain("Threads were not followed.");
  const json = JSON.parse(await runTop(folder, { ...plain, by: "pool-blocks", json: true }, terminal));
  expect(json).toMatchObject({ tool: "pool", by: "pool-blocks", total: 3, unit: "blocks" });
  expect(json.rows[0]).toMatchObject({ value: 2, place: { function: "carve", line: 7 } });
});

it("has a tree of its call paths, as text and as JSON", async () => {
  const { runTree } = await import("../../src/cli/commands/tree.ts");
  const text = await runTree(folder, { ...plain, tool: TOOL }, terminal);
  expect(text).toMatch(/4.50 KiB.*main/);
  expect(text).toMatch(/4.00 KiB.*carve/);
  const json = JSON.parse(await runTree(folder, { ...plain, by: "pool-blocks", json: true }, terminal));
  expect(json).toMatchObject({ tool: "pool" });
});

it("is checked against limits", async () => {
  const { checkRun } = await import("../../src/runs/check/check-run.ts");
  const { parseLimit } = await import("../../src/explain/limits/limit.ts");
  const limits = ["pool-bytes<=4096", "pool-blocks<=3", "bytes<=1MiB"].map((text) => ({
    limit: parseLimit(text),
  }));
  const report = await checkRun(folder, { limits, leaks: [], places: [] } as never, {});
  expect(report.limits.map(({ passed }) => passed)).toEqual([false, true, true]);
  expect(report.notes).toContain("Threads were not followed.");
});

it("is compared with another run of it", async () => {
  const { runDiff } = await import("../../src/cli/diff/run-diff.ts");
  const { text } = await runDiff({ old: [folder], new: [folder] }, { ...plain, tool: TOOL }, terminal);
  expect(text).toContain("the pool");
});

it("is exported, and on the page", async () => {
  const { exportedTool, writeStacks } = await import("../../src/show/exports/export-formats.ts");
  const { loadTools } = await import("../../src/runs/recorded-tools.ts");
  const { pageOfRun } = await import("../../src/show/report/page/data/run-page.ts");
  const run = await loadTools(folder, ["heap", TOOL]);
  const recorded = { tool: TOOL, profile: poolOf(run) } as never;
  const folded = [...writeStacks("folded", recorded, exportedTool(recorded), 1)].join("");
  expect(folded).toBe("main;carve 4096\nmain;refill 512\n");
  const { weights } = pageOfRun(run, { input: folder, findings: [], sources: "none", read: () => undefined });
  expect(weights.find(({ id }) => id === "pool-bytes")).toMatchObject({ tool: "pool", total: 4608 });
});
