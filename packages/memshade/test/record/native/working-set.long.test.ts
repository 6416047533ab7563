import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPhases } from "../../../src/explain/analyses/working-set.ts";
import type { InstanceWorkingSet } from "../../../src/profile/model/working-set/working-set.ts";
import { WORKING_SET_FILE } from "../../../src/runs/working-set.ts";
import { MAIN } from "../../command.ts";
import { canCompile, compileProgram, memshade, memshadeRun, runIn } from "./support/record.ts";

/** Lines that a process touches besides its own work. */
const BESIDE = 300;

const REAL: readonly (readonly string[])[] = [
  ["/usr/bin/gzip", "-c", "-n", "/usr/bin/perl"],
  [
    "/usr/bin/perl",
    "-e",
    'my %h; $h{$_ % 997} .= $_ for 1 .. 50000; print join ",", map { length $h{$_} } sort keys %h',
  ],
  ["/usr/bin/python3", "-S", "-c", "print(sum(hash((i, i * i)) for i in range(50000)))"],
  [
    "/usr/bin/sqlite3",
    ":memory:",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select sum(i * i % 7) from n",
  ],
  [
    "/usr/bin/lua5.4",
    "-e",
    "local t = {} for i = 1, 100000 do t[i] = tostring(i) end print(#table.concat(t))",
  ],
];

describe.skipIf(!canCompile)("a native program whose working set is recorded", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-lines-"));
  const program = join(folder, "lines");
  beforeAll(() => compileProgram("lines.c", program, ["-pthread"]));
  afterAll(() => rmSync(folder, { recursive: true }));

  const record = (how: string, ...options: string[]) => {
    const out = join(folder, how);
    const given = ["--quiet", "--tool", "workingset", ...options, "--out", out, program, how];
    const { status, signal, stdout, stderr } = memshadeRun(folder, given);
    const [instance] = WORKING_SET_FILE.load(out).instances;
    return { status, signal, stdout, stderr, instance };
  };
  const total = ({ total }: InstanceWorkingSet, beside = BESIDE) =>
    Math.floor((total.lines ?? 0) / beside) * beside;

  it("is reported by its working set first", () => {
    record("phases", "--interval", "20ms");
    const { stdout } = memshade(folder, ["report", "phases"]);
    expect(stdout).toMatch(/^Working set of \S+lines phases/);
    expect(stdout).not.toContain("Heap profile");
  });

  it("has its blocks where they are asked for, too", () => {
    const out = join(folder, "blocks");
    const given = ["--quiet", "--tool", "alloc,workingset", "--out", out, program, "phases"];
    expect(memshadeRun(folder, given).status).toBe(3);
    expect(runIn(out).heap!.allocations).toBeGreaterThan(0);
    const { stdout } = memshade(folder, ["report", "blocks"]);
    expect(stdout).toMatch(/^Working set of/);
    expect(stdout).toContain("Heap profile of lines");
  });

  it("has children beside it, of which nobody says that they allocate nothing", () => {
    const out = join(folder, "traced");
    const given = ["--trace-children", "--tool", "workingset", "--out", out, program, "fork"];
    const { stdout, stderr } = memshadeRun(folder, given);
    expect(stdout).toBe("done\n");
    expect(stderr).toMatch(/traced\.\d+: lines$/m);
    const { heap, children } = runIn(out);
    expect({ heap, children }).toEqual({
      heap: undefined,
      children: [{ program: "lines", command: [program, "fork"] }],
    });
    const [, child] = /(traced\.\d+):/.exec(stderr)!;
    expect(memshade(folder, ["report", child]).stdout).toMatch(/^CPU time of/);
  });

  it("is refused what is about blocks, in one line", () => {
    const { status, stderr } = memshadeRun(folder, ["--mmap", "--tool", "workingset", program, "phases"]);
    expect({ status, lines: stderr.trim().split("\n") }).toEqual({
      status: 2,
      lines: [expect.stringContaining("--mmap needs the blocks too")],
    });
  });

  it("says so where its marks find no room", () => {
    const out = join(folder, "limited");
    const command = [process.execPath, MAIN, "run", "--tool", "workingset", "--out", out, program, "phases"];
    // The limit leaves room for the tables, but not for the marks.
    const limited = `ulimit -f 9000000; exec ${command.join(" ")}`;
    expect(spawnSync("bash", ["-c", limited]).status).toBe(3);
    expect(runIn(out).notTracked.join("\n")).toMatch(
      /There is no working set: no shared memory could be created for it \(.*\)\./,
    );
    expect(existsSync(join(out, "workingset.json"))).toBe(false);
  });

  it("has the lines of each phase in its intervals, read and written", () => {
    const { status, instance } = record("phases", "--interval", "20ms");
    expect(status).toBe(3);
    const { counts } = instance.levels[0];
    const largest = Math.max(...counts.lines!);
    expect(largest).toBeGreaterThanOrEqual(100_000);
    expect(largest).toBeLessThan(100_000 + BESIDE);
    expect(instance.total.heap).toBeGreaterThanOrEqual(100_000);
    expect(instance.total.lines).toBeLessThan(100_000 + 2 * BESIDE);
    // The third phase reads and writes all lines that it touches.
    expect(instance.total.both).toBeGreaterThanOrEqual(100_000);
    const { lines, read, written, both } = counts;
    lines!.forEach((count, i) => {
      expect(count).toBe(read![i] + written![i] - both![i]);
    });
    // No long interval has more lines than the largest phase, and the longest interval has all lines.
    const longest = instance.levels.at(-1)!;
    expect(longest.counts.lines).toEqual([instance.total.lines]);
  });

  it("has the lines of all its threads", () => {
    const { stdout, instance } = record("threads");
    expect(stdout).toBe("done\n");
    expect(instance.total.written).toBeGreaterThanOrEqual(20_000);
    expect(instance.total.lines).toBeLessThan(20_000 + 2 * BESIDE);
  });

  it("has no lines of a child that was forked", () => {
    const { stdout, instance } = record("fork");
    expect(stdout).toBe("done\n");
    expect(instance.total.written).toBeGreaterThanOrEqual(2000);
    expect(total(instance, 2 * BESIDE)).toBeLessThan(2000 + 2 * BESIDE);
  });

  it("keeps what it has touched when it is killed", () => {
    const { signal, instance } = record("kill");
    expect(signal).toBe("SIGKILL");
    expect(instance.total.written).toBeGreaterThanOrEqual(3000);
  });

  it("names the functions that its intervals ended in", () => {
    const { instance } = record("phases");
    const names = new Set(instance.stacks.flat().map(({ name }) => name));
    expect([...names]).toContain("main");
  });

  it("has the same intervals each time, measured in accesses", () => {
    const [one, other] = [0, 1].map((i) => {
      const { stdout, instance } = record("passes", "--interval", "2000acc", "--max-intervals", "4096");
      expect({ i, stdout }).toEqual({ i, stdout: "done\n" });
      return instance;
    });
    const { start, end, counts } = one.levels[0];
    expect(one.duration).toBeGreaterThanOrEqual(80_000);
    expect(other.duration).toBe(one.duration);
    expect(other.levels[0].counts.heap).toEqual(counts.heap);
    // An interval within the passes has exactly their lines.
    const full = counts.heap!.filter((lines) => lines === 2000);
    expect(full.length).toBeGreaterThanOrEqual(39);
    expect(full.length).toBeLessThanOrEqual(41);
    // Intervals end when due, except for the last stretch of code.
    for (let i = 0; i < end.length - 1; i++) {
      expect(start[i] % 2000).toBeLessThan(100);
      expect(end[i] - start[i]).toBeGreaterThan(1900);
    }
  });

  it.each([
    ["passes", "returns"],
    ["passes", "exit"],
    ["passes", "_exit"],
    ["passes", "abort"],
    ["passes", "trap"],
    ["kill", ""],
  ])("has no phase behind its end: lines %s %s", (how, end) => {
    const out = join(folder, `ended-${end}`);
    const options = ["--quiet", "--tool", "workingset", "--interval", "2000acc", "--out", out];
    const ran = memshadeRun(folder, [...options, program, how, ...(end === "" ? [] : [end])]);
    const [instance] = WORKING_SET_FILE.load(out).instances;
    const [last] = findPhases(instance).slice(-1);
    expect(ran.status === 3 || ran.signal !== null).toBe(true);
    expect(last.end).toBe(instance.duration);
    expect(last.meanLines).toBeGreaterThan(how === "kill" ? 1000 : 1900);
  });

  it("keeps as many intervals in accesses as it may, and then makes them longer", () => {
    const { instance } = record("passes", "--interval", "1000acc", "--max-intervals", "8");
    expect(instance.levels[0].start.length).toBeLessThanOrEqual(8);
    expect(instance.period).toBeGreaterThanOrEqual(16_000);
    expect(instance.total.heap).toBeGreaterThanOrEqual(2000);
  });

  it("counts the accesses of threads, and says that they lose some", () => {
    const { stdout, instance } = record("threads", "--interval", "1000acc");
    expect(stdout).toBe("done\n");
    expect(instance.total.written).toBeGreaterThanOrEqual(20_000);
    expect(instance.duration).toBeGreaterThan(10_000);
    const { stdout: report } = memshade(folder, ["report", "threads"]);
    expect(report.replaceAll(/\s+/g, " ")).toContain("Accesses of threads at the same time may count as one");
  });

  it("keeps what it has touched when it is killed, in intervals of accesses", () => {
    const { signal, instance } = record("kill", "--interval", "500acc");
    expect(signal).toBe("SIGKILL");
    expect(instance.total.written).toBeGreaterThanOrEqual(3000);
  });

  it("has the intervals that have ended in a dump", async () => {
    const out = join(folder, "dumped");
    const args = [
      "run",
      "--quiet",
      "--tool",
      "workingset",
      "--interval",
      "20ms",
      "--out",
      out,
      program,
      "waits",
    ];
    const run = spawn(process.execPath, [MAIN, ...args], { cwd: folder });
    const ended = new Promise((done) => run.once("exit", done));
    await new Promise((ready) => run.stdout.once("data", ready));
    await new Promise((later) => setTimeout(later, 200));
    run.kill("SIGUSR2");
    while (!existsSync(join(`${out}.dump1`, "run.json"))) await new Promise((later) => setTimeout(later, 20));
    run.stdin.end("\n");
    expect(await ended).toBe(3);
    const [dump] = WORKING_SET_FILE.load(`${out}.dump1`).instances;
    const [whole] = WORKING_SET_FILE.load(out).instances;
    expect(dump.total.heap).toBeGreaterThanOrEqual(3000);
    expect(dump.total.heap).toBeLessThan(3000 + BESIDE);
    expect(whole.total.heap).toBeGreaterThanOrEqual(6000);
  });

  for (const command of REAL)
    it(`runs ${command[0]} with the same output`, () => {
      if (!existsSync(command[0])) {
        console.warn(`SKIPPED: ${command[0]} is not installed`);
        return;
      }
      const more = { PYTHONHASHSEED: "0" };
      const env = { ...process.env, ...more };
      const plain = spawnSync(command[0], command.slice(1), { cwd: folder, env, encoding: "utf8" });
      const out = join(folder, "real");
      const given = ["--quiet", "--tool", "workingset", "--out", out, ...command];
      const { status, stdout } = memshadeRun(folder, given, more);
      expect({ status, stdout }).toEqual({ status: plain.status, stdout: plain.stdout });
      expect(
        JSON.parse(readFileSync(join(out, "workingset.json"), "utf8")).instances[0].total.lines,
      ).toBeGreaterThan(500);
    });
});
