import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { CAN_BUILD, compile } from "./compile.ts";

if (!CAN_BUILD.wasm)
  console.warn("SKIPPED: clang-22 with WASI libraries is not installed, no program is given advice");

const SOURCE = readFileSync(new URL("table.c", import.meta.url), "utf8");
const INPUTS = [
  ["1000", "40"],
  ["2000", "30"],
  ["1500", "60"],
] as const;

async function succeed(args: readonly string[], cwd: string): Promise<string> {
  const { code, stderr, stdout } = await memshade(args, { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

async function storeOf(source: string): Promise<string> {
  const cwd = newFolder();
  const program = compile("wasm", source, join(cwd, "table.c"));
  for (const [entries, rounds] of INPUTS) {
    const tools = ["--tool", "workingset", "--who", "--interval", "10000acc"];
    await succeed(["run", "--quiet", ...tools, "--out", entries, program, entries, rounds], cwd);
    await succeed(["store", "add", "--to", "fleet", "--build", "b", "--input", entries, entries], cwd);
  }
  return cwd;
}

/** Largest working set of all runs, and that of intervals that use only keys and values. */
async function measured(cwd: string): Promise<{ largest: number; lookingUp: number }> {
  const sql = `select max(w.bytes) as largest, median(w.bytes) filter (w.interval between 10 and 30) as looking_up from workingset as w`;
  const [row] = JSON.parse(await succeed(["store", "query", "fleet", sql, "--json"], cwd));
  return { largest: row.largest, lookingUp: row.looking_up };
}

describe.skipIf(!CAN_BUILD.wasm)("advice of many runs of a real program", () => {
  it("names what is used together and nothing else, and saves what it says when it is taken", {
    timeout: 120_000,
  }, async () => {
    const apart = await storeOf(SOURCE);
    const { advice } = JSON.parse(await succeed(["store", "advise", "fleet", "--json"], apart));
    expect(advice).toMatchObject([{ kind: "used-together", runs: INPUTS.length, overlap: 1 }]);
    const [{ places, saves, savesOfLargest }] = advice;
    expect(places.map((place: { function: string }) => place.function).sort()).toEqual([
      "make_key",
      "make_value",
    ]);

    const together = await storeOf(SOURCE.replace("#define APART 1", "#define APART 0"));
    const [before, now] = [await measured(apart), await measured(together)];
    // Block headers are saved too, and blocks of the log are no longer interleaved with others.
    expect((before.lookingUp - now.lookingUp) / saves).toBeGreaterThan(0.9);
    expect((before.lookingUp - now.lookingUp) / saves).toBeLessThan(1.1);
    expect((before.largest - now.largest) / savesOfLargest).toBeGreaterThan(0.9);
    expect((before.largest - now.largest) / savesOfLargest).toBeLessThan(1.1);
    expect(JSON.parse(await succeed(["store", "advise", "fleet", "--json"], together)).advice).toEqual([]);
  });
});
