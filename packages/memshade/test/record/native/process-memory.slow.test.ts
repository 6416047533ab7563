import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMeasured } from "../../../src/profile/model/read-run.ts";
import type { ProcessMemory } from "../../../src/profile/model/run.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

const MIB = 2 ** 20;
const ALL = 60_000 * 600;

describe.skipIf(!canCompile)("what a native program has in memory beside its blocks", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-memory-"));
  const program = join(folder, "fragments");
  beforeAll(() => compileProgram("fragments.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  function recorded(how: string, options: readonly string[] = []): { memory: ProcessMemory; said: string } {
    const { stderr } = memshadeRun(folder, [...options, "--out", how, program, how]);
    const { memory } = readMeasured(readFileSync(join(folder, how, "measured.json"), "utf8"));
    return { memory: memory!, said: stderr };
  }

  it("is kept by its allocator between blocks that stay: a finding, with the place of these", () => {
    const { memory, said } = recorded("stay");
    const { residentBytes, peakBytes, allocator } = memory;
    expect(residentBytes).toBeGreaterThan(ALL);
    expect(peakBytes).toBeGreaterThanOrEqual(residentBytes);
    expect(peakBytes).toBeLessThan(ALL + 16 * MIB);
    // One of 64 messages stays live; each takes 8 bytes more than its size.
    expect(allocator!.freeBytes).toBeGreaterThan((ALL * 63) / 64);
    expect(allocator!.heldBytes).toBeLessThan(residentBytes);
    expect(said).toMatch(
      /fragmentation +3\d\.\d MiB +of free memory cannot be returned to the system: \d+ live blocks of make \(fragments\.c:12\) lie in between\n/,
    );
    const { stdout } = memshade(folder, ["report", "stay"]);
    expect(stdout).toMatch(
      /Resident +3\d\.\d MiB at the end \(peak 3\d\.\d MiB\): 55\d KiB live, 3\d\.\d MiB kept\s+free/,
    );
    const report = JSON.parse(memshade(folder, ["report", "--json", "--full", "stay"]).stdout);
    expect(report.presence.memory).toEqual(memory);
    expect(runIn(join(folder, "stay")).files.measured).toBe("measured.json");
  });

  it("is none where all blocks end, though the buffer of a file lies behind them", () => {
    const { memory, said } = recorded("none");
    expect(memory.allocator).toBeDefined();
    expect(said).not.toContain("fragmentation");
  });

  it("is given back where the last block of the heap ends too", () => {
    const { memory, said } = recorded("order");
    expect(memory.residentBytes).toBeLessThan(ALL / 2);
    expect(memory.peakBytes).toBeGreaterThan(ALL);
    expect(said).not.toContain("fragmentation");
  });

  it("is little where the blocks are what it has", () => {
    const { memory, said } = recorded("all");
    expect(memory.residentBytes).toBeGreaterThan(ALL);
    expect(memory.allocator!.freeBytes).toBeLessThan(MIB);
    expect(said).not.toContain("fragmentation");
  });

  it("is known but for the allocator where a tool's code is in it", () => {
    const { memory } = recorded("stay", ["--tool", "heap"]);
    expect(memory.residentBytes).toBeGreaterThan(ALL);
    expect(memory.allocator).toBeUndefined();
  });
});
