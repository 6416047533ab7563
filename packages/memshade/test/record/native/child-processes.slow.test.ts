import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Run } from "../../../src/profile/model/run.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

const LEFT = "family has left its work to other processes: --trace-children records them, too.";

describe.skipIf(!canCompile)("a native program that starts others", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-family-"));
  const program = join(folder, "family");
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(() => compileProgram("family.c", program));

  it("does not record them by default, and no process sees the recording", () => {
    const out = join(folder, "alone");
    const ended = memshadeRun(folder, ["--quiet", "--out", out, program]);
    expect(ended).toMatchObject({ status: 3, stderr: "" });
    expect(ended.stdout.trim().split("\n")).toEqual(
      ["main", "executed", "after vfork", "spawned", "piped"].map((who) => `${who}: 0 variables, 0 files`),
    );
    // 10 blocks, the buffer of printf, and 3 blocks of setenv.
    expect(runIn(out).heap).toMatchObject({ allocations: 14, notTracked: [LEFT] });
    expect(runIn(out).children).toBeUndefined();
    expect(readdirSync(folder).filter((name) => name.startsWith("alone"))).toEqual(["alone"]);
  });

  it("is told of --trace-children only if they did its work", () => {
    const say = (command: readonly string[]) =>
      memshadeRun(folder, ["--out", join(folder, "told"), ...command]).stderr;
    const left = / has left its work to other processes: --trace-children records them, too\n/;
    expect(say(["sh", "-c", "ls / > /dev/null; true"])).toMatch(left);
    expect(say(["sh", "-c", "i=0; while [ $i -lt 100 ]; do i=$((i + 1)); done"])).not.toMatch(left);
    expect(say([program])).toMatch(left);
    const busy = join(folder, "busy");
    compileProgram("busy-parent.c", busy);
    expect(say([busy])).not.toMatch(left);
  });

  it("has a run for each child with --trace-children, named at its end and in its report", () => {
    const out = join(folder, "traced");
    const ended = memshadeRun(folder, ["--trace-children", "--out", out, program]);
    expect(ended.status).toBe(3);
    expect(ended.stdout).toContain("spawned: 1 variables, 0 files");
    const runs = readdirSync(folder).filter((name) => name.startsWith("traced."));
    const byCommand = new Map(
      runs.map((name): [string, [string, Run]] => {
        const run = runIn(join(folder, name));
        return [[run.program, ...run.command.slice(1)].join(" "), [name, run]];
      }),
    );
    const blocks = (command: string) => byCommand.get(`family${command}`)![1].heap!.allocations;
    // A forked child continues as the program; children that print also have a buffer.
    expect(blocks("")).toBe(200);
    expect(blocks(" executed 300")).toBe(301);
    expect(blocks(" after vfork 400")).toBe(401);
    expect(blocks(" spawned 500")).toBe(501);
    expect(blocks(" piped 600")).toBe(601);
    expect(byCommand.get("family")![1].heap!.notTracked).toContainEqual(
      expect.stringMatching(/^This process was forked: /),
    );
    expect(byCommand.get("family executed 300")![1].heap!.notTracked).toContainEqual(
      expect.stringMatching(/^5 allocations between the fork and the exec of this process are in no run/),
    );
    // The shell of system() and cat are two more runs.
    expect(runs).toHaveLength(7);
    expect(ended.stderr).toContain("7 child processes have runs of their own:");
    for (const name of runs) expect(ended.stderr).toContain(`${name}: `);
    const { children } = runIn(out);
    expect(children).toHaveLength(7);
    expect(children).toContainEqual({
      program: "family",
      command: ["family", "spawned", "500"],
      allocations: 501,
      allocatedBytes: 500 * 77 + 4096,
    });
  });

  it("ends without waiting for a child that still runs, and reports that", () => {
    // If the child kept our pipes open, the reader of the pipes would wait for it.
    const script = join(folder, "leaves.sh");
    writeFileSync(script, "#!/bin/sh\nsleep 30 >/dev/null 2>&1 &\necho $!\nexit 5\n", { mode: 0o755 });
    const out = join(folder, "left");
    const ended = memshadeRun(folder, ["--trace-children", "--out", out, script], {});
    process.kill(Number(ended.stdout));
    expect(ended.status).toBe(5);
    expect(ended.stderr).toMatch(/processes that the program has started are still running/);
    const [left] = readdirSync(folder).filter((name) => name.startsWith("left."));
    expect(runIn(join(folder, left!)).end).toEqual({ kind: "dump" });
  });

  it("counts a child that could not create its memory file", () => {
    const out = join(folder, "limited");
    const command = `ulimit -f 100; ${program} child 7; exit 0`;
    const ended = memshadeRun(folder, ["--trace-children", "--out", out, "sh", "-c", command]);
    expect(ended).toMatchObject({ status: 0, stdout: "child: 1 variables, 0 files\n" });
    expect(ended.stderr).toContain("1 child process could not be recorded: a limit");
  });
});
