import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import type { Run } from "../../../src/profile/model/run.ts";
import { loadHeap } from "../../../src/runs/heap.ts";
import { MAIN } from "../../command.ts";

const canCompile =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0;
/** Exit code of `timeout`. */
const TIMED_OUT = 124;
const PROFDATA = "llvm-profdata-22";
const hasProfdata = spawnSync(PROFDATA, ["--version"], { stdio: "ignore" }).status === 0;
const hasScript = spawnSync("script", ["--version"], { stdio: "ignore" }).status === 0;
if (!hasScript) console.warn("SKIPPED: script is not installed: no native program is run on a terminal");
if (!hasProfdata) console.warn(`SKIPPED: ${PROFDATA} is not installed: it reads no native profile`);
if (!canCompile)
  console.warn("SKIPPED: gcc for x86-64 Linux is not installed: no native program is recorded");

function pathOf({ contexts, stacks, functions, frames, strings }: HeapProfile, context: number): string[] {
  const path: string[] = [];
  for (let stack = contexts.stack[context]!; stack >= 0; stack = stacks.prefix[stack]!) {
    const frame = stacks.frame[stack]!;
    path.push(`${strings[functions.name[frames.function[frame]!]!]}:${frames.line[frame]}`);
  }
  return path;
}

function compileProgram(source: string, target: string, options: readonly string[]): void {
  const path = fileURLToPath(new URL(`programs/${source}`, import.meta.url));
  spawnSync("gcc", ["-g", "-O1", ...options, path, "-o", target], { stdio: "inherit" });
}

describe.skipIf(!canCompile)("a native program with threads and a child", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-native-"));
  const program = join(folder, "several");
  const out = join(folder, "run");
  let ended: ReturnType<typeof spawnSync>;
  const run = (): Run => JSON.parse(readFileSync(join(out, "run.json"), "utf8"));

  beforeAll(() => {
    compileProgram("several.c", program, ["-fno-inline", "-pthread"]);
    ended = spawnSync(process.execPath, [MAIN, "run", "--quiet", "--out", out, program], {
      encoding: "utf8",
    });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("ends as it would alone, and sees nothing of the recording", () => {
    expect(ended).toMatchObject({ status: 7, stdout: "clean\n", stderr: "" });
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)(
    "is recorded up to the %s that ends it",
    async (sent) => {
      const to = join(folder, sent);
      const command = ["sh", "-c", "echo ready; exec sleep 60"];
      const memshade = spawn(process.execPath, [MAIN, "run", "--quiet", "--out", to, ...command]);
      const signal = new Promise((done) => memshade.on("exit", (_, by) => done(by)));
      await new Promise((ready) => memshade.stdout.once("data", ready));
      memshade.kill(sent);
      expect(await signal).toBe(sent);
      expect(existsSync(join(to, "run.json"))).toBe(true);
    },
  );

  it("is recorded up to a signal that its whole group gets, as that of timeout", async () => {
    const tries = Array.from({ length: 3 }, async (_, i) => {
      const to = join(folder, `group-${i}`);
      const args = [MAIN, "run", "--quiet", "--out", to, "sleep", "60"];
      const memshade = spawn("timeout", ["10", process.execPath, ...args]);
      let said = "";
      memshade.stderr.on("data", (text) => {
        said += text;
      });
      const code = await new Promise((done) => memshade.on("close", done));
      return { code, said, isWritten: existsSync(join(to, "run.json")) };
    });
    for (const ended of await Promise.all(tries))
      expect(ended).toEqual({ code: TIMED_OUT, said: "", isWritten: true });
  });

  it.skipIf(!hasScript)("has its tables made with progress on a terminal, once", () => {
    const env = { ...process.env, XDG_CACHE_HOME: join(folder, "empty") };
    const command = [process.execPath, MAIN, "run", "--out", join(folder, "shown"), program].join(" ");
    const shown = () => spawnSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8", env }).stdout;
    expect(shown()).toMatch(/memshade: building tables for unwinding stacks, once per file: 1 of \d/);
    expect(shown()).not.toContain("building tables");
  });

  it("has all its blocks counted, and none of its child's", () => {
    // Worked out by hand: 50 and 4 · 1,000 blocks by lost_block, a growing block with its first size and 20 steps, the buffer of printf,
    // and one block of glibc for each of the four threads.
    expect(run().heap).toMatchObject({ allocations: 50 + 4 * 1000 + 21 + 1 + 4, liveBlocks: 50 + 1 + 4 });
  });

  it("has its leak at the line, with the whole way to it", async () => {
    const { profile } = await loadHeap(out);
    const leaks = profile.contexts.site!.liveBlocks.indexOf(50);
    const path = pathOf(profile, leaks);
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

describe.skipIf(!canCompile)("a library that a native program loads late", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-late-"));
  const out = join(folder, "run");
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has its blocks, with the way through it, in a dump and at the end", async () => {
    const [program, library] = [join(folder, "late"), join(folder, "late-library.so")];
    compileProgram("late.c", program, []);
    compileProgram("late-library.c", library, [
      "-fno-inline",
      "-fno-optimize-sibling-calls",
      "-shared",
      "-fPIC",
    ]);
    const memshade = spawn(process.execPath, [MAIN, "run", "--quiet", "--out", out, program, library]);
    const ended = new Promise((done) => memshade.on("exit", done));
    await new Promise((ready) => memshade.stdout.once("data", ready));
    memshade.kill("SIGUSR2");
    while (!existsSync(`${out}.dump1`)) await new Promise((later) => setTimeout(later, 20));
    memshade.stdin.end("\n");
    expect(await ended).toBe(0);
    for (const [place, blocks] of [
      [`${out}.dump1`, [10]],
      [out, [10, 10]],
    ] as const) {
      const { profile } = await loadHeap(place);
      const sizes = Array.from(profile.contexts.mibs.totalSize, Number);
      const ours = sizes.flatMap((size, context) => (size === 770 ? [context] : []));
      expect(ours.map((context) => profile.contexts.mibs.allocCount[context])).toEqual(blocks);
      for (const context of ours)
        expect(pathOf(profile, context).slice(0, 3)).toEqual([
          "inner:7",
          "outer:11",
          expect.stringMatching(/^main:1[04]$/),
        ]);
    }
  });
});
