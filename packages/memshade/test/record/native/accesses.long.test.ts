import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { accessesBySize } from "./support/accesses.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

/** Expected accesses of the blocks of `accesses.c` by block size, worked out from its source. */
const KNOWN = {
  // 8 bytes each, twice; 4 bytes each; 16 bytes each
  1000: 200,
  2000: 500,
  3008: 100,
  // 16 bytes each, with a mask, at an address that no operand gives
  1888: 60,
  // One access for every 8 bytes that `rep` reaches: 3,999 bytes are filled, 3,200 copied, 100 compared.
  4001: 500 + 400,
  5000: 400 + 13,
  // Blocks of 601 and 602 bytes are filled; they differ in byte 301.
  601: 76 + 1 + 38,
  602: 76 + 38,
  // An atomic read-modify-write counts as one access, a plain one as two.
  48: 1000 + 1000,
  1500: 1 + 4,
  1501: 1 + 4 * 2 + 1,
  // 101 jumps to labels
  99: 100 + 100 + 1,
  // Before a reallocation, between two, and after both
  160000: 1000,
  900000: 10,
  170: 20,
  // One GiB, and a quarter GiB that lives to the end
  [2 ** 30]: 2,
  [2 ** 28]: 1,
  // 8 threads, one block each
  72: 8 * 20000,
};

describe.skipIf(!canCompile)("accesses of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-accesses-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  function recorded(source: string, options: readonly string[], args: readonly string[] = []): string {
    const name = `${source}${options.join("")}${args.join("")}`;
    const program = join(folder, name);
    compileProgram(source, program, ["-pthread", ...options]);
    const out = `${program}.run`;
    memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", out, program, ...args]);
    return out;
  }

  const knownOf = (out: string) => {
    const all = accessesBySize(out);
    return Object.fromEntries(Object.keys(KNOWN).map((size) => [size, all.get(Number(size))?.accesses]));
  };

  it.each(["-O0", "-O2", "-O3", "-no-pie"])(
    "are exact for every block, by whatever instructions they are made: %s",
    (level) => {
      expect(knownOf(recorded("accesses.c", [level]))).toEqual(KNOWN);
    },
  );

  it("are there after a signal that nobody can handle", () => {
    const out = recorded("accesses.c", [], ["die"]);
    expect(runIn(out).end).toMatchObject({ kind: "signal", signal: "SIGKILL" });
    expect(knownOf(out)).toEqual(KNOWN);
  });

  it("tell of blocks that nobody has read, and of those that nobody has touched", () => {
    const { heap, tools } = runIn(recorded("accesses.c", ["-O2"]));
    expect(tools.heap).toMatchObject({ counters: "merged" });
    const unread = heap!.sites.filter(({ writtenNeverRead }) => writtenNeverRead > 0);
    const bytes = unread.map(({ writtenNeverReadBytes }) => writtenNeverReadBytes);
    for (const size of [1000, 3008, 2 ** 28, 2 ** 30]) expect(bytes).toContain(size);
    for (const size of [2000, 601, 48]) expect(bytes).not.toContain(size);
  });

  it("that race may be missing, but no block is; and what a copy of the process does is its own", () => {
    const out = recorded("races.c", ["-O2"]);
    expect(runIn(out).heap!.notTracked!.join("\n")).toContain(
      "Access counts of blocks that several threads use are lower bounds",
    );
    const all = accessesBySize(out);
    expect(all.get(80)).toEqual({ blocks: 8 * 20000, accesses: 8 * 20000 * 2 });
    const shared = all.get(64)!.accesses;
    const made = 8 * (200000 * 2 + 20000);
    expect(shared).toBeLessThanOrEqual(made);
    expect(shared).toBeGreaterThan(made / 8);
    expect(all.get(96)).toEqual({ blocks: 1, accesses: 1 });
  });
});
