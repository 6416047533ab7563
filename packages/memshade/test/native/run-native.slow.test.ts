import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Run } from "../../src/model/run.ts";
import { loadHeap } from "../../src/runs/heap.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const SOURCE = fileURLToPath(new URL("programs/several.c", import.meta.url));
const canCompile =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0;
const PROFDATA = "llvm-profdata-22";
const hasProfdata = spawnSync(PROFDATA, ["--version"], { stdio: "ignore" }).status === 0;
if (!hasProfdata) console.warn(`SKIPPED: ${PROFDATA} is not installed: it reads no native profile`);
if (!canCompile)
  console.warn("SKIPPED: gcc for x86-64 Linux is not installed: no native program is recorded");

describe.skipIf(!canCompile)("a native program with threads and a child", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-"));
  const program = join(folder, "several");
  const out = join(folder, "run");
  let ended: ReturnType<typeof spawnSync>;
  const run = (): Run => JSON.parse(readFileSync(join(out, "run.json"), "utf8"));

  beforeAll(() => {
    spawnSync("gcc", ["-g", "-O1", "-fno-inline", "-pthread", SOURCE, "-o", program], { stdio: "inherit" });
    const env = { ...process.env, XDG_CACHE_HOME: folder };
    ended = spawnSync(process.execPath, [MAIN, "run", "--quiet", "--out", out, program], {
      encoding: "utf8",
      env,
    });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("ends as it would alone, and sees nothing of the recording", () => {
    expect(ended).toMatchObject({ status: 7, stdout: "clean\n", stderr: "" });
  });

  it("has all its blocks counted, and none of its child's", () => {
    // By hand: 50 and 4 · 1,000 by lost_block, 20 steps of one that grows and its first, the buffer of printf, and what glibc
    // allocates for each of the four threads.
    expect(run().heap).toMatchObject({ allocations: 50 + 4 * 1000 + 21 + 1 + 4, liveBlocks: 50 + 1 + 4 });
  });

  it("has its leak at the line, with the whole way to it", async () => {
    const { profile } = await loadHeap(out);
    const leaks = profile.contexts.site!.liveBlocks.indexOf(50);
    const path: string[] = [];
    for (let stack = profile.contexts.stack[leaks]!; stack >= 0; stack = profile.stacks.prefix[stack]!) {
      const frame = profile.stacks.frame[stack]!;
      const name = profile.functions.name[profile.frames.function[frame]!]!;
      path.push(`${profile.strings[name]}:${profile.frames.line[frame]}`);
    }
    expect(path.slice(0, 2)).toEqual(["lost_block:12", "main:24"]);
    expect(path.at(-1)).toMatch(/^_start/);
  });

  it("has the blocks of threads on the threads' own stacks", async () => {
    const { profile } = await loadHeap(out);
    expect(Array.from(profile.contexts.mibs.allocCount, Number)).toContain(4000);
  });

  it.skipIf(!hasProfdata)("is a MemProf profile that LLVM reads, functions and lines included", () => {
    const raw = join(out, "heap.memprofraw");
    const shown = spawnSync(PROFDATA, ["show", "--memory", raw, "--profiled-binary", program], {
      encoding: "utf8",
    });
    expect(shown.status, shown.stderr).toBe(0);
    expect(shown.stdout).toMatch(/SymbolName: lost_block\n\s+LineOffset: 1\n/);
  });
});
