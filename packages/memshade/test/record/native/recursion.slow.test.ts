import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

/** Size of the program's blocks; the buffer that it prints with has another size. */
const BLOCK_BYTES = 16n;
const FOLDED = /^\d+ calls inside recursion left out of call paths/;

describe.skipIf(!canCompile)("call paths of recursion", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-recursion-"));
  const program = join(folder, "recursion");
  beforeAll(() => compileProgram("recursion.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  function record(kind: string) {
    const out = join(folder, kind);
    const { status, stdout } = memshadeRun(folder, ["--quiet", "--out", out, program, kind]);
    expect(status).toBe(0);
    const run = runIn(out);
    const { contexts } = readRaw(readFileSync(join(out, run.files.heap!)));
    const own = contexts.filter(({ mib }) => BigInt(mib.totalSize) === BLOCK_BYTES * BigInt(mib.allocCount));
    return {
      blocks: Number(stdout),
      recorded: own.reduce((sum, { mib }) => sum + mib.allocCount, 0),
      paths: own.length,
      longest: Math.max(...own.map(({ pcs }) => pcs.length)),
      told: run.heap!.notTracked!.filter((sentence) => FOLDED.test(sentence)),
      overflow: run.heap!.overflow,
    };
  }

  it("are few where one call recurs at any depth", () => {
    expect(record("list")).toMatchObject({ blocks: 2808, recorded: 2808, paths: 2, told: [] });
  });

  it("are few where two calls of one function do", () => {
    const { blocks, recorded, paths, told } = record("tree");
    expect(recorded).toBe(blocks);
    expect(paths).toBeLessThan(10);
    expect(told).toEqual([]);
  });

  it("stay bounded where functions call each other in any order, which is told, and no block is lost", () => {
    const { blocks, recorded, paths, longest, told, overflow } = record("circle");
    expect(blocks).toBe(8 * (2 ** 15 - 1));
    expect(recorded).toBe(blocks);
    expect(overflow).toEqual({ contexts: 0, blocks: 0 });
    expect(paths).toBeLessThan(30_000);
    expect(longest).toBeLessThan(40);
    expect(told).toHaveLength(1);
  });
});
