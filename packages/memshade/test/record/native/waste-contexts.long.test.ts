import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WasteFile, WasteStore } from "../../../src/profile/model/waste.ts";
import { MAIN } from "../../command.ts";
import { canCompile, compileProgram, memshade, memshadeRun } from "./support/record.ts";

const TURNS = 2000;
const ALL = 100 * TURNS;

function wasteIn(folder: string): WasteFile {
  return JSON.parse(readFileSync(join(folder, "waste.json"), "utf8"));
}

describe.skipIf(!canCompile)("stores of a native program by their contexts", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-contexts-"));
  const program = join(folder, "contexts");
  beforeAll(() => compileProgram("waste-contexts.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  const storesOf = ({ stores }: WasteFile, name: string): WasteStore[] =>
    stores.filter(({ ips }) => ips[0].function === name);
  const sum = (stores: readonly WasteStore[], figure: (one: WasteStore) => number): number =>
    stores.reduce((before, one) => before + figure(one), 0);

  it("are dead and silent where they are, and their sums are exact", () => {
    for (const options of [["--contexts"], []]) {
      const out = join(folder, options.length === 0 ? "plain" : "run");
      memshadeRun(folder, ["--quiet", "--tool", "waste", ...options, "--out", out, program, `${TURNS}`]);
    }
    const [plain, waste] = [wasteIn(join(folder, "plain")), wasteIn(join(folder, "run"))];
    const puts = storesOf(waste, "put");
    const by = (caller: string): WasteStore => {
      const [one, ...others] = puts.filter(({ ips }) => ips[1]?.function === caller);
      expect(others).toEqual([]);
      return one;
    };
    expect(puts).toHaveLength(3);
    expect(by("wasteful").dead_overwritten).toBe(8 * (ALL - 1));
    expect(by("useful").dead_overwritten).toBe(0);
    expect(by("silent").dead_overwritten).toBe(0);
    expect(by("silent").nof_silent).toBe(ALL - 1);
    // The number of runs of each is an estimate.
    for (const [caller, runs] of [
      ["wasteful", ALL],
      ["useful", 3 * ALL],
      ["silent", ALL],
    ] as const)
      expect(Math.abs(by(caller).nof_stores / runs - 1), caller).toBeLessThan(0.25);
    expect(
      by("wasteful")
        .ips.slice(1, 3)
        .map((ip) => ip.function),
    ).toEqual(["wasteful", "main"]);
    for (const figure of [
      "nof_stores",
      "bytes_written",
      "dead_overwritten",
      "nof_silent",
      "dead_exit",
    ] as const)
      expect(
        sum(puts, (one) => one[figure]),
        figure,
      ).toBe(sum(storesOf(plain, "put"), (one) => one[figure]));
    expect(waste.options.contexts).toBe(true);
    expect(memshade(folder, ["top", "run", "--by", "dead", "--group", "path", "--wide"]).stdout).toMatch(
      /put .*\n?.*← wasteful/,
    );
  });

  it("are counted once where a library is loaded several times", () => {
    const [again, library] = [join(folder, "again"), join(folder, "again.so")];
    compileProgram("waste-again.c", again);
    compileProgram("waste-again.c", library, ["-DLIBRARY", "-shared", "-fPIC"]);
    // The first run loads the library unrewritten. The library must stay loaded for a while so that the recorder finds it.
    for (const ms of ["1000", "0"]) {
      const out = join(folder, `again-${ms}`);
      memshadeRun(folder, ["--quiet", "--tool", "waste", "--contexts", "--out", out, again, library, ms]);
    }
    const stores = storesOf(wasteIn(join(folder, "again-0")), "outer");
    expect(sum(stores, (one) => one.nof_stores)).toBe(5 * 10);
    expect(sum(stores, (one) => one.dead_overwritten)).toBe(5 * 72);
  });

  it("are in a dump while it runs, and in the profile when a signal ends it", async () => {
    const out = join(folder, "killed");
    const args = ["run", "--quiet", "--tool", "waste", "--out", out, program, "20", "wait"];
    const recorder = spawn(process.execPath, [MAIN, ...args]);
    const ended = new Promise((done) => recorder.on("exit", (_code, signal) => done(signal)));
    await new Promise((ready) => recorder.stdout.once("data", ready));
    recorder.kill("SIGUSR2");
    while (!existsSync(join(`${out}.dump1`, "waste.json")))
      await new Promise((later) => setTimeout(later, 50));
    recorder.stdin.end("\n");
    expect(await ended).toBe("SIGKILL");
    for (const place of [`${out}.dump1`, out]) {
      const puts = storesOf(wasteIn(place), "put");
      expect(sum(puts, (one) => one.nof_stores)).toBe(5 * 20 * 100);
      expect(sum(puts, (one) => one.dead_exit)).toBe(8);
    }
  });

  it("are an option of the waste tool", () => {
    const { status, stderr } = memshadeRun(folder, ["--tool", "heap", "--contexts", program, "1"]);
    expect([status, stderr]).toEqual([
      2,
      "memshade: --contexts is an option of the waste tool: add --tool waste\n",
    ]);
  });
});
