import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WasteFile, WasteLoad, WasteStore } from "../../../src/profile/model/waste.ts";
import { MAIN } from "../../command.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

describe.skipIf(!canCompile)("dead and silent stores of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-waste-"));
  const program = join(folder, "waste");
  afterAll(() => rmSync(folder, { recursive: true }));

  function wasteOf(rounds: number): WasteFile {
    const out = join(folder, `run${rounds}`);
    memshadeRun(folder, ["--quiet", "--tool", "waste", "--out", out, program, `${rounds}`]);
    return JSON.parse(readFileSync(join(out, "waste.json"), "utf8"));
  }

  const sumIn = <T extends WasteStore | WasteLoad>(
    of: readonly T[],
    name: string,
    figure: (one: T) => number,
  ) => of.filter(({ ips }) => ips[0].function === name).reduce((sum, one) => sum + figure(one), 0);

  const EACH_ROUND = {
    dead1: { stores: 1, overwritten: 1, deallocated: 0, silent: 0 },
    dead2: { stores: 1, overwritten: 2, deallocated: 0, silent: 0 },
    dead4: { stores: 1, overwritten: 4, deallocated: 0, silent: 0 },
    dead8: { stores: 1, overwritten: 8, deallocated: 0, silent: 0 },
    dead16: { stores: 1, overwritten: 16, deallocated: 0, silent: 0 },
    silent4: { stores: 1, overwritten: 0, deallocated: 0, silent: 1 },
    silent16: { stores: 1, overwritten: 0, deallocated: 0, silent: 1 },
    set1: { stores: 1, overwritten: 0, deallocated: 0, silent: 1 },
    // Bytes that the mask excludes are not overwritten.
    besideMask: { stores: 1, overwritten: 0, deallocated: 0, silent: 0 },
    // One of the four bytes is read, and none of the eight.
    mixed4: { stores: 1, overwritten: 3, deallocated: 0, silent: 0 },
    mixed8: { stores: 1, overwritten: 8, deallocated: 0, silent: 0 },
    update: { stores: 1, overwritten: 0, deallocated: 0, silent: 0 },
    unread: { stores: 1, overwritten: 0, deallocated: 8, silent: 0 },
    fillBlock: { stores: 1, overwritten: 100, deallocated: 0, silent: 0 },
    // The kernel has read the bytes, and gets the same values each time.
    toKernel: { stores: 1, overwritten: 0, deallocated: 0, silent: 1 },
    // The stack is excluded.
    local: { stores: 1, overwritten: 0, deallocated: 0, silent: 0 },
    // The move reads the bytes; those cut off end.
    moved: { stores: 1, overwritten: 0, deallocated: 0, silent: 0 },
    cut: { stores: 1, overwritten: 0, deallocated: 8, silent: 0 },
    // Blocks of every hundredth round, whose pages move: bytes that are unread there end with the block.
    paged: { stores: 0.01, overwritten: 0, deallocated: 0.08, silent: 0 },
    readLater: { stores: 0.01, overwritten: 0, deallocated: 0, silent: 0 },
  };

  it.each(["-O1", "-O2"])("are exact for every pattern: %s", (level) => {
    compileProgram("waste.c", program, ["-pthread", level, "-fno-tree-vectorize"]);
    const [few, many] = [wasteOf(500), wasteOf(1500)];
    const grown = Object.keys(EACH_ROUND).map((name) => {
      const more = (figure: (one: WasteStore) => number) =>
        (sumIn(many.stores, name, figure) - sumIn(few.stores, name, figure)) / 1000;
      return [
        name,
        {
          stores: more((one) => one.nof_stores),
          overwritten: more((one) => one.dead_overwritten),
          deallocated: more((one) => one.dead_deallocated),
          silent: more((one) => one.nof_silent),
        },
      ];
    });
    expect(Object.fromEntries(grown)).toEqual(EACH_ROUND);
    // All loads but the first find the same value as before.
    expect(sumIn(many.loads, "again", (one) => one.nof_loads)).toBe(1515);
    expect(sumIn(many.loads, "again", (one) => one.nof_silent)).toBeGreaterThanOrEqual(1499);
    // Threads may lose additions to a shared counter, but never count too much.
    const byThreads = sumIn(many.stores, "mine", (one) => one.dead_overwritten);
    expect(byThreads).toBeLessThanOrEqual(8 * 1500 * 8);
    expect(byThreads).toBeGreaterThan(1500 * 8);
  });

  it("have lines, and a report that says at its end what is not counted", () => {
    const { stores, modules, notTracked } = wasteOf(500);
    const [store] = stores.filter(({ ips }) => ips[0].function === "dead1");
    expect(store.ips[0]).toMatchObject({ file: expect.stringMatching(/waste\.c$/), line: 13 });
    expect(modules!.map(({ name }) => name)).toContain("waste");
    expect(notTracked).toEqual([]);
    const { tools, presence } = runIn(join(folder, "run500"));
    expect(tools).toEqual({ waste: { engine: "brief", contexts: false, objects: false, compat: "" } });
    expect(presence!.shadow).toBeGreaterThan(4096);
    const report = memshade(folder, ["report", "run500"]).stdout;
    expect(report).toMatch(/nor is the stack without --include-stack/);
    expect(report).not.toContain("--pairs");
  });

  it("are not taken for none where they find no room to be counted", () => {
    compileProgram("waste.c", program, ["-pthread"]);
    const command = [process.execPath, MAIN, "run", "--tool", "waste", "--out", join(folder, "limited")];
    const limited = `ulimit -f 9000000; exec ${[...command, program, "5"].join(" ")}`;
    const { status, stderr } = spawnSync("bash", ["-c", limited], {
      encoding: "utf8",
    });
    expect(stderr).toContain("the program could not create the shared file for its counts");
    expect(status).not.toBe(0);
  });

  it("are those of a library that is loaded right before the program ends, too", () => {
    const library = join(folder, "waste-late.so");
    compileProgram("waste-late.c", join(folder, "waste-late"));
    compileProgram("waste-late.c", library, ["-DLIBRARY", "-shared", "-fPIC"]);
    // The first run loads the library unrewritten. The library must stay loaded for a while so that the recorder finds it.
    for (const [out, ms] of [
      ["ends-1", "1000"],
      ["ends-2", "0"],
    ] as const)
      memshadeRun(folder, [
        "--quiet",
        "--tool",
        "waste",
        "--out",
        out,
        join(folder, "waste-late"),
        library,
        ms,
      ]);
    const waste: WasteFile = JSON.parse(readFileSync(join(folder, "ends-2", "waste.json"), "utf8"));
    expect(sumIn(waste.stores, "outer", (one) => one.nof_stores)).toBe(10);
    expect(sumIn(waste.stores, "outer", (one) => one.dead_overwritten)).toBe(72);
    expect(waste.modules!.map(({ name }) => name)).toContain("waste-late.so");
  });

  it("say that a library ran as it is that was loaded later, and have its stores the next time", () => {
    const library = join(folder, "late-library.so");
    compileProgram("late.c", join(folder, "late"));
    compileProgram("late-library.c", library, ["-shared", "-fPIC"]);
    const [first, second] = ["late-1", "late-2"].map((out) => {
      memshadeRun(folder, ["--quiet", "--tool", "waste", "--out", out, join(folder, "late"), library]);
      return JSON.parse(readFileSync(join(folder, out, "waste.json"), "utf8")) as WasteFile;
    });
    expect(runIn(join(folder, "late-1")).notTracked.join()).toContain("late-library.so");
    expect(sumIn(first.stores, "inner", (one) => one.nof_stores)).toBe(0);
    expect(runIn(join(folder, "late-2")).notTracked.join()).not.toContain("late-library.so");
    expect(sumIn(second.stores, "inner", (one) => one.nof_stores)).toBe(20);
  });
});
