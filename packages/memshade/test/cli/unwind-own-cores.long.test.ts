import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memshade } from "./support/command-line.ts";
import { madeUpProgram } from "./support/made-up-program.ts";

// Programs that the test compiles and lets crash, compared with GDB's stacks of their cores.

const folder = mkdtempSync(join(tmpdir(), "memshade-own-cores-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Recursion, calls from libc, inlined and tail calls; with an argument, the program ends in a signal handler. */
const SOURCE = `
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
volatile int sink; char *volatile bad;
__attribute__((noinline)) int crash(int x) { *bad = x; return sink; }
__attribute__((noinline)) int tail1(int x) { sink = x; return crash(x + 1); }
__attribute__((noinline)) int tail2(int x) { sink = x * 2; return tail1(x + 3); }
static inline int small(int x) {
  return tail2(x) + 1;
}
__attribute__((noinline)) int compare(const void *a, const void *b) {
  return small(*(const int *)a - *(const int *)b) * 2;
}
__attribute__((noinline)) int sorter(int n) {
  int v[5] = {n, 3, 1, 2, 0};
  qsort(v, 5, sizeof *v, compare);
  return v[0] + 1;
}
static void handler(int number) {
  sink = number;
  abort();
}
int deep(int n) {
  if (n == 0) return sorter(n) + 1;
  return deep(n - 1) * 3 + sink;
}
int main(int count, char **arguments) {
  if (count > 1) signal(SIGSEGV, handler);
  printf("%d\\n", deep(8));
}`;

/** Prints the frames of a core except those that GDB infers from call sites. */
const FRAMES = `
import gdb
frame = gdb.selected_frame()
while frame is not None:
    if frame.type() == gdb.SIGTRAMP_FRAME: print("FRAME <signal>")
    elif frame.type() != gdb.TAILCALL_FRAME: print("FRAME", frame.name(), frame.find_sal().line)
    frame = frame.older()
`;

const gdb = (...commands: string[]) =>
  spawnSync("gdb", ["-q", "-batch", "-nx", ...commands], { cwd: folder, encoding: "utf8" });

function compile(compiler: string, level: string): boolean {
  return spawnSync(compiler, [level, "-g", "own.c", "-o", "own"], { cwd: folder }).status === 0;
}

let canRun = false;
beforeAll(() => {
  writeFileSync(join(folder, "own.c"), SOURCE);
  writeFileSync(join(folder, "frames.py"), FRAMES);
  canRun = gdb("-ex", "python print('there')").stdout?.includes("there") ?? false;
  if (!canRun) console.warn("SKIPPED: there is no gdb with Python, nothing is compared with it");
});

interface JsonFrame {
  readonly kind: string;
  readonly function?: string;
  readonly line?: string;
  readonly inlined?: readonly JsonFrame[];
}

/** Frames in the format of the script. */
function lines(frames: readonly JsonFrame[]): string[] {
  const line = (frame: JsonFrame) => `${frame.function} ${frame.line?.split(":").at(-1) ?? 0}`;
  return frames.flatMap((frame) =>
    frame.kind === "signal" ? ["<signal>"] : [...(frame.inlined ?? []).map(line), line(frame)],
  );
}

/** Frames up to `main`, where GDB ends. */
const upToMain = (frames: readonly string[]) =>
  frames.slice(0, frames.findIndex((frame) => frame.startsWith("main ")) + 1);

/** Frames of a core by GDB and by memshade, up to `main`; undefined if the compiler is missing. */
async function framesOfCore(
  compiler: string,
  level: string,
  handled = false,
): Promise<{ ours: string[]; gdbs: string[] } | undefined> {
  if (!compile(compiler, level)) {
    console.warn(`SKIPPED: ${compiler} is not installed`);
    return undefined;
  }
  const handle = handled ? "handle SIGSEGV nostop noprint pass" : "handle SIGSEGV stop";
  const run = handled ? "run handled" : "run";
  const made = gdb("-ex", handle, "-ex", run, "-ex", "gcore core", "-ex", "kill", "./own");
  expect(made.stdout).toContain("Saved corefile core");
  const frames = gdb("-x", "frames.py", "./own", "core").stdout.match(/(?<=^FRAME ).*/gm) ?? [];
  const { stdout } = await memshade(["unwind", join(folder, "core"), "--format", "json"], { cwd: folder });
  return { ours: upToMain(lines(JSON.parse(stdout).threads[0].frames)), gdbs: upToMain(frames) };
}

describe.each(["gcc", "clang-22"])("cores of programs that %s compiled", (compiler) => {
  it.each(
    ["-O0", "-O1", "-O2", "-O3"].flatMap((level) => [true, false].map((isHandled) => ({ level, isHandled }))),
  )("have the frames that GDB shows: %o", async ({ level, isHandled }) => {
    if (!canRun) return;
    const frames = await framesOfCore(compiler, level, isHandled);
    if (frames === undefined) return;
    expect(frames.ours.length).toBeGreaterThan(15);
    expect(frames.ours).toEqual(frames.gdbs);
  });
});

/** Number of programs; MEMSHADE_SEED and MEMSHADE_RUNS select others. */
const RUNS = Number(process.env.MEMSHADE_RUNS ?? 2);
const FIRST_SEED = Number(process.env.MEMSHADE_SEED ?? 1);

describe("cores of programs made up at random", () => {
  it.each(Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index))(
    "have the frames that GDB shows: %i",
    async (seed) => {
      if (!canRun) return;
      writeFileSync(join(folder, "own.c"), madeUpProgram(seed));
      const compiler = ["gcc", "clang-22"][seed % 2]!;
      const level = ["-O0", "-O1", "-O2", "-O3", "-Os"][seed % 5]!;
      const frames = await framesOfCore(compiler, level);
      if (frames === undefined) return;
      expect(frames.ours.length).toBeGreaterThan(2);
      expect(frames.ours, `${compiler} ${level}`).toEqual(frames.gdbs);
    },
  );
});
