import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WasteFile, WasteStore } from "../../../src/profile/model/waste.ts";
import { canCompile, compileProgram, memshade, memshadeRun } from "./support/record.ts";

const [TURNS, BYTES] = [2000, 1000];
const ALL = 10 * TURNS * BYTES;

describe.skipIf(!canCompile)("what the C library copies and fills for a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-callers-"));
  const program = join(folder, "callers");
  let waste: WasteFile;
  beforeAll(() => {
    compileProgram("waste-callers.c", program, ["-fno-builtin"]);
    memshadeRun(folder, ["--quiet", "--tool", "waste", "--out", "run", program, `${TURNS}`]);
    waste = JSON.parse(readFileSync(join(folder, "run", "waste.json"), "utf8"));
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const by = (caller: string): WasteStore[] =>
    waste.stores.filter(({ ips }) => ips.length === 2 && ips[1].function === caller);
  const sum = (stores: readonly WasteStore[], figure: (one: WasteStore) => number): number =>
    stores.reduce((before, one) => before + figure(one), 0);
  const written = (caller: string): number => sum(by(caller), (one) => one.bytes_written);
  const dead = (caller: string): number => sum(by(caller), (one) => one.dead_overwritten);

  it("is its callers', without --contexts", () => {
    expect(waste.options.contexts).toBe(false);
    // Vectors at both ends of a block overlap: some bytes are written twice.
    expect(written("clearing")).toBeGreaterThanOrEqual(ALL);
    expect(dead("clearing") / written("clearing")).toBeGreaterThan(0.99);
    expect(dead("wasteful") / written("wasteful")).toBeGreaterThan(0.9);
    expect(dead("useful") / written("useful")).toBeLessThan(0.2);
    // The number of runs of each is an estimate.
    expect(Math.abs(written("wasteful") / written("useful") - 1)).toBeLessThan(0.25);
  });

  it("is the program's caller, where the library calls itself", () => {
    expect(written("printing")).toBeGreaterThan(0);
    expect(by("_IO_new_file_xsputn")).toEqual([]);
  });

  it("is told by their lines, by a sentence that names the library's function", () => {
    const { stdout } = memshade(folder, ["report", "run"]);
    expect(stdout).toMatch(/stored by clearing \(waste-callers\.c:26\)\s+via\s+\w*memset/);
    expect(stdout).not.toMatch(/MiB\s+stored by useful \(waste-callers\.c:20\)[^.]*overwritten/);
    expect(stdout).not.toMatch(/the C library: [0-9.]+ MiB/);
    expect(stdout).toContain("Callers of memcpy, memset and the like are estimated");
  });

  it("is one finding where one line calls it, whatever instructions the library takes", () => {
    const target = join(folder, "once");
    compileProgram("waste-copy.c", target, ["-fno-builtin"]);
    const { stderr } = memshadeRun(folder, ["--tool", "waste", "--out", "once.run", target]);
    expect(stderr).toMatch(
      /dead\s+3\.9\d MiB\s+stored by main \(waste-copy\.c:11\)( via \S+)? are overwritten before any read/,
    );
  });
});
