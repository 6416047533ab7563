import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Run } from "../../../../src/profile/model/run.ts";
import { rewriteFiles } from "../../../../src/record/native/rewritten/rewrite-files.ts";
import { canCompile, compileProgram, memshadeRun } from "../support/record.ts";

const canMark = canCompile && spawnSync("objcopy", ["--version"], { stdio: "ignore" }).status === 0;
if (!canMark)
  console.warn("SKIPPED: objcopy is not installed, no program is taken for one of Go (Debian: binutils)");

const folder = mkdtempSync(join(tmpdir(), "memshade-left-alone-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!canCompile)("a program whose functions have no frames", () => {
  it("is named with its bytes, and its blocks are not called unused", () => {
    const program = join(folder, "bare");
    compileProgram("accesses.c", program, ["-pthread", "-fno-asynchronous-unwind-tables"]);
    const out = join(folder, "bare.out");
    const ended = memshadeRun(folder, ["--tool", "heap", "--out", out, program]);
    expect(ended.status).toBe(0);
    expect(ended.stderr).not.toContain("never used");
    const run: Run = JSON.parse(readFileSync(join(out, "run.json"), "utf8"));
    expect(run.heap?.notTracked?.join("\n")).toMatch(/without unwind information.*: bare \([\d,]+ bytes\)/);
  });
});

const [C_LIBRARY] = /\/\S+\/libc\.so\.6/.exec(readFileSync("/proc/self/maps", "latin1")) ?? [""];

describe.skipIf(!canCompile)("a program that is linked statically", () => {
  afterAll(() => vi.unstubAllEnvs());

  for (const linking of ["-static", "-static-pie"])
    it(`stays as it is where another program starts it: no dynamic linker maps what inserted code uses (${linking})`, async () => {
      const program = join(folder, `naps${linking}`);
      compileProgram("naps.c", program, [linking]);
      vi.stubEnv("XDG_CACHE_HOME", folder);
      const rewriting = { tool: "heap", options: {}, instead: folder, isQuiet: true } as const;
      const [{ facts }] = await rewriteFiles([program], rewriting);
      expect(facts).toEqual({ refused: "it is linked statically" });
    });
});

describe.skipIf(!canCompile)("files that take more memory to be rewritten than there is for it", () => {
  afterAll(() => vi.unstubAllEnvs());

  it("stay as they are, and are rewritten when there is more", async () => {
    const program = join(folder, "large");
    compileProgram("naps.c", program);
    vi.stubEnv("XDG_CACHE_HOME", join(folder, "another"));
    const refusals = async (memory: number): Promise<boolean[]> => {
      const rewriting = { tool: "heap", options: {}, instead: folder, memory, isQuiet: true } as const;
      const files = await rewriteFiles([program, C_LIBRARY], rewriting);
      return files.map(({ facts }) => "refused" in facts && facts.refused.includes("--memory-limit"));
    };
    expect(await refusals(1000)).toEqual([true, true]);
    // This limit suffices for the program, which is small, but not for the C library.
    expect(await refusals(2 ** 20)).toEqual([false, true]);
    expect(await refusals(2 ** 30)).toEqual([false, false]);
  });
});

describe.skipIf(!canMark)("a program of Go", () => {
  it("runs as it is, is recorded by its allocations in C, and nobody is sent to a tool that cannot follow it", () => {
    const program = join(folder, "uses-c");
    compileProgram("dragged.c", program);
    // This section marks a program as written in Go.
    writeFileSync(join(folder, "table"), "Go");
    const marked = spawnSync("objcopy", ["--add-section", `.gopclntab=${join(folder, "table")}`, program]);
    expect(marked.status).toBe(0);
    const out = join(folder, "out");
    const ended = memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", out, program]);
    expect(ended.status).toBe(0);
    expect(ended.stderr).toContain("is a Go program");
    const run: Run = JSON.parse(readFileSync(join(out, "run.json"), "utf8"));
    expect(run.heap?.allocatedBytes).toBeGreaterThan(0);
    const told = run.heap?.notTracked?.join("\n");
    expect(told).toContain("Accesses were not counted");
    expect(told).not.toContain("--tool heap");
  });
});
