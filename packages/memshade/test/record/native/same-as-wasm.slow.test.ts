import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { accessesBySize } from "./support/accesses.ts";
import { buildForBoth, hasWasi, randomWalks } from "./support/random-walks.ts";
import { canCompile, memshadeRun } from "./support/record.ts";

function byWalk({ stores, loads }: WasteFile): Record<string, Record<string, number>> {
  const walks: Record<string, Record<string, number>> = {};
  const add = (name = "", figures: Record<string, number>): void => {
    if (!name.startsWith("walk")) return;
    walks[name] ??= {};
    for (const [kind, figure] of Object.entries(figures))
      walks[name][kind] = (walks[name][kind] ?? 0) + figure;
  };
  for (const { ips, nof_stores, nof_silent: silent, bytes_written, ...dead } of stores) {
    const { dead_overwritten, dead_deallocated, dead_exit } = dead;
    add(ips[0].function, {
      nof_stores,
      silent,
      bytes_written,
      dead_overwritten,
      dead_deallocated,
      dead_exit,
    });
  }
  for (const { ips, nof_loads, bytes_loaded, nof_silent: silentLoads } of loads)
    add(ips[0].function, { nof_loads, bytes_loaded, silentLoads });
  return walks;
}

describe.skipIf(!canCompile || !hasWasi)("what a native program does is what its module does", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-same-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  function recorded(tool: string, seed: number, source: string): string[] {
    return buildForBoth(source, join(folder, `${tool}-${seed}`)).map((program) => {
      const out = `${program}.run`;
      const { status, stderr } = memshadeRun(folder, ["--quiet", "--tool", tool, "--out", out, program]);
      expect(status, stderr).toBe(0);
      return out;
    });
  }

  it.each([1, 3])("blocks have the same accesses: program %i", (seed) => {
    const { source, sizes } = randomWalks(seed, { reallocates: true });
    const [wasm, native] = recorded("heap", seed, source).map((run) => {
      // Either compiler may remove blocks that are never used.
      const all = accessesBySize(run);
      return sizes.map((size) => [size, all.get(size)?.accesses ?? 0]);
    });
    expect(native).toEqual(wasm);
    expect(native.some(([, accesses]) => accesses > 100)).toBe(true);
  });

  // realloc's copy is no access of the program natively; in a module it is an access of the C library.
  it.each([1, 2, 3])("stores and loads are dead and silent in the same functions: program %i", (seed) => {
    const { source } = randomWalks(seed, { reallocates: false });
    const [wasm, native] = recorded("waste", seed, source).map((run) =>
      byWalk(JSON.parse(readFileSync(join(run, "waste.json"), "utf8"))),
    );
    expect(native).toEqual(wasm);
    for (const figure of ["dead_overwritten", "dead_deallocated", "dead_exit", "silent", "silentLoads"])
      expect(
        Object.values(native).some((walk) => walk[figure] > 50),
        figure,
      ).toBe(true);
  });
});
