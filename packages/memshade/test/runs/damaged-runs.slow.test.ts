import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runFindings } from "../../src/explain/findings/run-findings.ts";
import { FormatError, UserError } from "../../src/ground/bytes/errors.ts";
import { pageOf } from "../../src/runs/page/run-page.ts";
import { loadTools, recordedTools } from "../../src/runs/recorded-tools.ts";
import { reportJson, reportParts } from "../../src/runs/report/report-parts.ts";
import { jsonText } from "../../src/show/report/json/text.ts";
import { createPaint } from "../../src/show/report/terminal/common/paint.ts";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { mutate, randomNumbers, withStranger } from "../profile/formats/mutations.ts";

// For more cases: MEMSHADE_SEED=… MEMSHADE_RUNS=10000 vitest run test/runs/damaged-runs.slow.test.ts
const RUNS = Number(process.env.MEMSHADE_RUNS ?? 100);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);
const WASM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));
const NATIVE = "/bin/true";
const canRunNative = process.platform === "linux" && process.arch === "x64" && existsSync(NATIVE);
if (!canRunNative)
  console.warn(`SKIPPED: ${NATIVE} of x86-64 Linux is not there: no native program is recorded`);

function damaged(run: string, copy: string, seed: number): void {
  const random = randomNumbers(seed);
  const names = readdirSync(run);
  for (const name of names) copyFileSync(join(run, name), join(copy, name));
  const name = names[Math.floor(random() * names.length)]!;
  const bytes = new Uint8Array(readFileSync(join(run, name)));
  const isChangedAsJson = name.endsWith(".json") && random() < 0.8;
  writeFileSync(
    join(copy, name),
    isChangedAsJson ? withStranger(new TextDecoder().decode(bytes), random) : mutate(bytes, random),
  );
}

async function tell(run: string): Promise<void> {
  const loaded = await loadTools(run, recordedTools(run));
  const findings = runFindings(loaded);
  const screen = { paint: createPaint(false), width: 80, isWide: false };
  for (const { print } of reportParts(loaded, run, { screen }))
    expect([...print(findings)].join("").length).toBeGreaterThan(0);
  expect(jsonText(reportJson(loaded, run, undefined, findings)).length).toBeGreaterThan(0);
  pageOf(loaded, run, findings, {});
}

describe("a run with a damaged file is told of, or refused by one error of a known kind:", () => {
  it.each<[string, string, string, boolean]>([
    ["of a WebAssembly program", "heap,waste,workingset", WASM, true],
    ["of a native program's allocations", "alloc", NATIVE, canRunNative],
    ["of a native program's working set", "workingset", NATIVE, canRunNative],
  ])("%s", { timeout: 3_600_000 }, async (_, tools, program, canRun) => {
    if (!canRun) return;
    const cwd = newFolder();
    const started = await memshade(["run", "--quiet", "--tool", tools, "--out", "run", program], { cwd });
    expect(started.code).toBe(0);
    await tell(join(cwd, "run"));
    const copy = newFolder();
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      damaged(join(cwd, "run"), copy, seed);
      try {
        await tell(copy);
      } catch (error) {
        if (error instanceof FormatError || error instanceof UserError) continue;
        throw new Error(`damaged by seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
  });
});
