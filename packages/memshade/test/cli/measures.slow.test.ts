import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { runTop } from "../../src/cli/commands/top.ts";
import { runTree } from "../../src/cli/commands/tree.ts";
import { runDiff } from "../../src/cli/diff/run-diff.ts";
import { FLEET_MEASURES } from "../../src/explain/fleet/measures.ts";
import {
  isAdditive,
  MEASURED_TOOLS,
  MEASURES,
  measure,
  recordedWith,
  stacksOf,
} from "../../src/explain/measures/index.ts";
import { sumByStack } from "../../src/profile/model/sample-profile.ts";
import { loadTools, recordedTools } from "../../src/runs/recorded-tools.ts";
import { exportedSamples } from "../../src/show/exports/samples.ts";
import { pageOfRun } from "../../src/show/report/page/data/run-page.ts";
import { CAN_BUILD, compile } from "../store/compile.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const PROGRAMS = fileURLToPath(new URL("../fixtures/programs/", import.meta.url));
const terminal = { isTerminal: false, environment: {} };
const usual = { color: "never", rows: 1_000_000 } as const;

/** Totals of the additive measures that a view gives for the whole run; measures missing from the view are left out. */
type Totals = Readonly<Record<string, number>>;

// Each view computes dozens of figures.
vi.setConfig({ testTimeout: 300_000 });
const cwd = newFolder();
const at = (run: string) => join(cwd, run);

async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await memshade(args, { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

const additive = (run: string) =>
  MEASURES.filter((one) => isAdditive(one) && recordedTools(at(run)).includes(recordedWith(one.tool)));

/** Measures of a view, requested one at a time; measures that the run does not have are left out. */
async function each(run: string, ask: (id: string) => Promise<number>): Promise<Totals> {
  const totals: Record<string, number> = {};
  for (const { id } of additive(run))
    try {
      totals[id] = await ask(id);
    } catch (error) {
      if ((error as Error).name !== "UserError" || / takes one of /.test((error as Error).message))
        throw error;
    }
  return totals;
}

const topTotals = (run: string) =>
  each(run, async (by) => {
    const text = await runTop(at(run), { ...usual, by, group: "path", json: true }, terminal);
    const { rows, rest, total } = JSON.parse(text) as {
      rows: { value: number }[];
      rest: number;
      total: number;
    };
    expect(
      rows.reduce((sum, { value }) => sum + value, rest),
      by,
    ).toBeCloseTo(total, 4);
    return total;
  });

const treeTotals = (run: string) =>
  each(run, async (by) => {
    const text = await runTree(at(run), { by, group: "site", color: "never", json: true }, terminal);
    const { roots, total } = JSON.parse(text) as { roots: { total: number }[]; total: number };
    expect(
      roots.reduce((sum, root) => sum + root.total, 0),
      by,
    ).toBeCloseTo(total, 4);
    return total;
  });

/** A limit of 0 always holds, and `check` prints the value. */
async function checkTotals(run: string, ids: readonly string[]): Promise<Totals> {
  const limits = ids.flatMap((id) => ["--limit", `${id}>=0`]);
  const found = JSON.parse(await succeed("check", run, "--format", "json", ...limits)) as {
    limits: { measure: string; value: number }[];
  };
  return Object.fromEntries(found.limits.map(({ measure: id, value }) => [id, value]));
}

async function diffTotals(run: string, expected: Totals): Promise<Totals> {
  const totals: Record<string, number> = {};
  const sides = { old: [at(run)], new: [at(run)] };
  for (const tool of new Set(Object.keys(expected).map((id) => measure(id).tool))) {
    const by = additive(run).find((one) => one.tool === tool)!;
    const { text } = await runDiff(sides, { ...usual, by, group: "site", json: true }, terminal);
    const { totals: of } = JSON.parse(text) as { totals: Record<string, { old: number; new: number }> };
    for (const { id } of additive(run))
      if (of[id] !== undefined) {
        expect(of[id].old).toBe(of[id].new);
        totals[id] = of[id].old;
      }
  }
  return totals;
}

async function exportTotals(run: string): Promise<Totals> {
  const profiles = await loadTools(at(run), recordedTools(at(run)));
  const totals: Record<string, number> = {};
  for (const tool of MEASURED_TOOLS) {
    const stacks = stacksOf(tool, profiles);
    if (stacks === undefined) continue;
    const { profile, weights } = exportedSamples(stacks, profiles);
    const sums = sumByStack(profile);
    for (const [index, { key }] of weights.entries())
      totals[key] = sums.reduce((sum, { values }) => sum + values[index]!, 0);
  }
  return totals;
}

async function pageTotals(run: string): Promise<Totals> {
  const profiles = await loadTools(at(run), recordedTools(at(run)));
  const page = pageOfRun(profiles, { input: run, findings: [], sources: "none", read: () => undefined });
  return Object.fromEntries(
    page.weights.map(({ id, values }) => [id, values.reduce((sum, value) => sum + value, 0)]),
  );
}

async function storeTotals(run: string): Promise<Totals> {
  const store = `fleet-${run}`;
  await succeed("store", "add", "--to", store, "--build", "a", run);
  const { StoreDatabase } = await import("../../src/store/database.ts");
  const { StoreFolder } = await import("../../src/store/folder.ts");
  const { trendOf } = await import("../../src/store/trend.ts");
  const database = await StoreDatabase.open(StoreFolder.open(at(store)));
  const totals = await each(run, async (id) => {
    const of = FLEET_MEASURES.find(({ key }) => key === id)!;
    const { builds } = await trendOf(database, { measure: of, last: 1, limits: [] });
    return builds[0]!.samples.sum;
  });
  database.close();
  return totals;
}

/** @param slack allowed difference: views with rounded values may differ by one per row */
function expectSame(totals: Totals, expected: Totals, view: string, slack: (total: number) => number): void {
  expect(Object.keys(totals).sort(), view).toEqual(Object.keys(expected).sort());
  for (const [id, total] of Object.entries(expected))
    expect(
      Math.abs(totals[id]! - total),
      `${view}: ${id} is ${totals[id]}, not ${total}`,
    ).toBeLessThanOrEqual(slack(total));
}

/** Expects that every view of a run has every additive measure, with the same total. */
async function walk(run: string, leastMeasures: number): Promise<void> {
  const expected = await topTotals(run);
  expect(Object.keys(expected).length).toBeGreaterThanOrEqual(leastMeasures);
  const exactly = (total: number) => 1e-6 * Math.abs(total);
  expectSame(await treeTotals(run), expected, "tree", exactly);
  expectSame(await diffTotals(run, expected), expected, "diff", exactly);
  expectSame(await exportTotals(run), expected, "export", (total) => 1 + 0.01 * total);
  // Pages omit weights of 0.
  const some = Object.fromEntries(Object.entries(expected).filter(([, total]) => total !== 0));
  expectSame(await pageTotals(run), some, "page", exactly);
  expectSame(await checkTotals(run, Object.keys(expected)), expected, "check", exactly);
  expectSame(await storeTotals(run), expected, "store", exactly);
}

beforeAll(async () => {
  copyFileSync(join(PROGRAMS, "kernels/hashmap.wasm"), join(cwd, "hashmap.wasm"));
  copyFileSync(join(PROGRAMS, "objects/kotlin.wasm"), join(cwd, "kotlin.wasm"));
  writeFileSync(
    join(cwd, "app.mjs"),
    `import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync("kotlin.wasm"));
instance.exports.run(1000);`,
  );
});

describe("every measure that adds up has the same total in every view", () => {
  it("of a WebAssembly program: heap, static data, waste and working set", async () => {
    await succeed(
      ...[
        "run",
        "--quiet",
        "--tool",
        "heap,waste,workingset",
        "--who",
        "--locality",
        "--pairs",
        "--contexts",
      ],
      ...["--out", "wasm", "hashmap.wasm"],
    );
    await walk("wasm", 35);
  });

  it("of garbage-collected objects", async () => {
    await succeed("node", "--tool", "objects", "--out", "objects", "app.mjs");
    await walk("objects", 3);
  });

  it.skipIf(!CAN_BUILD.native)("of a native program", async () => {
    const program = compile(
      "native",
      "#include <stdlib.h>\nint main(void) { char *p = malloc(99); p[3] = 1; return p[4]; }",
      join(cwd, "app.c"),
    );
    await succeed("run", "--quiet", "--tool", "heap", "--out", "native", program);
    await walk("native", 8);
  });
});
