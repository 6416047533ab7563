import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CpuSamples } from "../../../../src/profile/model/cpu.ts";
import type { Run } from "../../../../src/profile/model/run.ts";
import { MAIN } from "../../../command.ts";

const isHere = process.platform === "linux" && process.arch === "x64";
const canCompile = isHere && spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0;
if (!canCompile)
  console.warn("SKIPPED: gcc for x86-64 Linux is not installed: no program of its own is sampled");

const folder = mkdtempSync(join(tmpdir(), "memshade-sampled-"));
afterAll(() => rmSync(folder, { recursive: true }));

function compileProgram(source: string): string {
  const target = join(folder, source.replace(".c", ""));
  const path = fileURLToPath(new URL(`../programs/${source}`, import.meta.url));
  const options = [
    "-g",
    "-O1",
    "-fno-inline",
    "-fno-optimize-sibling-calls",
    "-fno-omit-frame-pointer",
    "-pthread",
  ];
  spawnSync("gcc", [...options, path, "-o", target], { stdio: "inherit" });
  return target;
}

function memshade(...args: readonly string[]) {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
}

function samplesOf(out: string): CpuSamples {
  return JSON.parse(readFileSync(join(out, "cpu.json"), "utf8"));
}

describe.skipIf(!canCompile)("a program with known shares of its CPU time", () => {
  const out = join(folder, "known");
  let ended: ReturnType<typeof memshade>;
  let report: {
    totals: { cpuMs: number; endedEarly: number; samples: number };
    threads: { name: string; cpuMs: number }[];
    functions: { function: string; totalMs: number }[];
    places: { place: { function: string }; callers: { function: string }[]; cpuMs: number }[];
  };

  beforeAll(() => {
    const program = compileProgram("sampled.c");
    ended = memshade("run", "--quiet", "--sample", "397hz", "--out", out, program);
    report = JSON.parse(memshade("report", out, "--tool", "cpu", "--json", "--full").stdout);
  });

  it("ends as it would alone", () => {
    expect(ended).toMatchObject({ status: 5, stdout: "done\n", stderr: "" });
  });

  it("has all of its CPU time in the samples, by threads with the names that they gave themselves", () => {
    // Both threads end after 1,500 ms of CPU time.
    expect(report.totals.cpuMs).toBeGreaterThan(0.93 * 3000);
    expect(report.totals.cpuMs).toBeLessThan(1.07 * 3000);
    expect(report.threads.map(({ name }) => name).toSorted()).toEqual(["compiled", "sampled"]);
    for (const { cpuMs } of report.threads) expect(Math.abs(cpuMs - 1500)).toBeLessThan(110);
  });

  it("has the shares of its functions, as far as so many samples can tell", () => {
    const of = (name: string) => report.functions.find((one) => one.function === name)?.totalMs ?? 0;
    const [once, twice] = [of("burn_once"), of("burn_twice")];
    // On a busy machine one sample counts for several late ones. Some hundred samples remain, of which a third varies by 4 % of the total.
    expect(Math.abs(twice / (once + twice) - 2 / 3)).toBeLessThan(0.16);
    expect(once + twice).toBeGreaterThan(0.9 * of("main"));
  });

  it("has whole call paths, through code that a compiler at run time has made, too", () => {
    expect(report.totals.endedEarly).toBeLessThan(0.01 * report.totals.samples);
    const made = report.places.find(({ place }) => place.function.startsWith("[memory with code]"))!;
    const callers = made.callers.map((caller) => caller.function);
    expect(callers.slice(0, 2)).toEqual(["made_at_run_time", "start_thread"]);
  });

  it("is exported with its threads and times", () => {
    const folded = memshade("export", out, "--tool", "cpu", "--format", "folded").stdout;
    expect(folded).toMatch(/^_start;.*;main;burn_twice;burn \d+$/m);
    const firefox = JSON.parse(memshade("export", out, "--tool", "cpu", "--format", "firefox").stdout);
    expect(firefox.threads.map(({ name }: { name: string }) => name).toSorted()).toEqual([
      "compiled",
      "sampled",
    ]);
    const pprof = join(folder, "cpu.pb.gz");
    expect(memshade("export", out, "--tool", "cpu", "--format", "pprof", "-o", pprof).status).toBe(0);
    expect(existsSync(pprof)).toBe(true);
  });

  it("has the threads beside its blocks", () => {
    const run: Run = JSON.parse(readFileSync(join(out, "run.json"), "utf8"));
    expect(run.heap?.threads).toEqual([expect.objectContaining({ name: "sampled", threads: 1 })]);
    expect(run.modules.map(({ name }) => name)).not.toContain("memshade.so");
  });
});

describe.skipIf(!canCompile)("a program that uses signals itself", () => {
  it("has all of them as it would alone, and is told of the one that it shares", () => {
    const program = compileProgram("own-signals.c");
    const alone = spawnSync(program, ["61", "34"], { encoding: "utf8" });
    const out = join(folder, "signals");
    const ended = memshade("run", "--quiet", "--sample", "97hz", "--out", out, program, "61", "34");
    expect(ended.stdout).toBe(alone.stdout);
    expect(ended.status).toBe(0);
    expect(ended.stderr).toBe(
      "memshade: the program uses signal 61 itself: samples are taken by signal 60 instead\n",
    );
    // One of its threads blocks all signals.
    expect(samplesOf(out).samples.ms.length).toBeGreaterThan(0);
    expect(samplesOf(out).notTracked.join()).toMatch(/signal 61 itself/);
  });

  it("has no timer and no handler without --sample", () => {
    const status = memshade(
      "run",
      "--quiet",
      "--out",
      join(folder, "plain"),
      "/bin/cat",
      "/proc/self/status",
    ).stdout;
    const timers = memshade(
      "run",
      "--quiet",
      "--out",
      join(folder, "plain"),
      "/bin/cat",
      "/proc/self/timers",
    ).stdout;
    expect(status).toMatch(/^SigCgt:\t0{16}$/m);
    expect(timers).toBe("");
  });
});

const PYTHON =
  "import json\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(24), len(json.dumps(list(range(200000)))))\n";
const C =
  '#include <stdio.h>\nint main(void) { for (int i = 0; i < 10; i++) printf("%d\\n", i); return 0; }\n';
const LINES = Array.from({ length: 200_000 }, (_, i) => `${(i * 7919) % 200_003} line`).join("\n");

/** Debian programs of several kinds: interpreters, a compiler with its children, threads, pipes. */
const PROGRAMS: readonly (readonly [file: string, ...args: string[]])[] = [
  ["/usr/bin/python3", "script.py"],
  ["/usr/bin/perl", "-e", "my $s = 0; $s += $_ * $_ for 1 .. 2000000; print qq($s\\n)"],
  ["/usr/bin/gcc", "-O2", "-S", "-o", "-", "main.c"],
  ["/usr/bin/sort", "--parallel=4", "-n", "lines"],
  ["/usr/bin/xz", "-T2", "-c", "-3", "lines"],
  ["/bin/bash", "-c", "for i in 1 2 3; do seq 1 1000 | sort -rn | head -1; done; exit 3"],
  ["/usr/bin/git", "hash-object", "lines", "no-such-file"],
];

describe.skipIf(!isHere)("programs of Debian", () => {
  const ofAll = { samples: 0, endedEarly: 0 };

  beforeAll(() => {
    writeFileSync(join(folder, "script.py"), PYTHON);
    writeFileSync(join(folder, "main.c"), C);
    writeFileSync(join(folder, "lines"), LINES);
  });

  for (const [file, ...args] of PROGRAMS)
    it.skipIf(!existsSync(file))(`${file}: the same output and exit code at 997 samples a second`, () => {
      const alone = spawnSync(file, args, { cwd: folder, maxBuffer: 2 ** 28 });
      const out = join(folder, `run-${PROGRAMS.findIndex(([one]) => one === file)}`);
      const sampled = spawnSync(
        process.execPath,
        [MAIN, "run", "--quiet", "--sample", "997hz", "--out", out, file, ...args],
        { cwd: folder, maxBuffer: 2 ** 28 },
      );
      expect(sampled.stdout.equals(alone.stdout)).toBe(true);
      expect(sampled.stderr.toString()).toBe(alone.stderr.toString());
      expect(sampled.status).toBe(alone.status);
      const { samples, endedEarly } = samplesOf(out);
      ofAll.samples += samples.ms.length;
      ofAll.endedEarly += endedEarly;
    });

  // A short program has a dozen samples; one of them exceeds any bound on its own.
  it("have whole call paths in at least 95 % of all their samples", () => {
    expect(ofAll.samples).toBeGreaterThan(100);
    expect(ofAll.endedEarly).toBeLessThanOrEqual(0.05 * ofAll.samples);
  });
});
