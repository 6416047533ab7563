import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Run } from "../../../src/profile/model/run.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "./support/record.ts";

const ONLY_LAST = /^Only replaced is recorded: (replaced) ran before it in the same process \(exec\)\.$/m;
const NOT_LAST =
  /^The program has replaced itself by (?:\S+|another program) \(exec\), which is not recorded/m;

describe.skipIf(!canCompile)("a native program that replaces itself by another one", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-replaced-"));
  const program = join(folder, "replaced");
  const out = join(folder, "out");
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  beforeAll(() => compileProgram("replaced.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  const gapsOf = ({ heap, notTracked }: Run): string => (heap?.notTracked ?? notTracked).join("\n");
  const run = (...args: readonly string[]) => memshadeRun(folder, ["--quiet", "--out", out, ...args], env);

  it.each([
    ["execv", 3, "b"],
    ["execve", 3, "b"],
    ["execvp", 3, "b"],
    ["execvpe", 3, "b"],
    ["fexecve", 3, "b"],
    ["execl", 2, "last"],
    ["execl of ten", 10, "9"],
    ["execlp", 4, "3"],
    ["execle", 5, "4"],
    ["execle of ten", 10, "9"],
    ["no variables", 3, "b"],
  ])("is recorded from there on, and neither program nor child sees it (%s)", (how, values, end) => {
    const ended = run(program, how);
    expect(ended).toMatchObject({
      status: 0,
      stderr: "",
      stdout: `${values} values, the last is ${end}, LD_PRELOAD is (null)\nchild has ''\n`,
    });
    const recorded = runIn(out);
    expect(recorded.command.slice(1, 2)).toEqual(["last"]);
    // 10 of its own, and those of `system`; none of the 10 before.
    expect(recorded.heap!.liveBytes).toBe(5000);
    expect(gapsOf(recorded)).toMatch(ONLY_LAST);
  });

  it("keeps the preload of the variables that it gives itself", () => {
    const { stdout } = run(program, "own variables");
    expect(stdout).toBe("3 values, the last is b, LD_PRELOAD is \nchild has ''\n");
    expect(runIn(out).heap!.liveBytes).toBe(5000);
  });

  it.each(["vfork", "fork"])("is recorded on where a child does so (%s)", (how) => {
    expect(run(program, how).stdout).toContain("LD_PRELOAD is (null)\nchild has ''\n");
    expect(runIn(out).heap!.liveBytes).toBe(350);
    expect(gapsOf(runIn(out))).not.toMatch(/exec/);
  });

  it("is recorded on where that fails", () => {
    expect(run(program, "failing")).toMatchObject({ status: 3, stderr: "" });
    expect(runIn(out).heap).toMatchObject({ allocations: 20, liveBytes: 5 * 70 + 5 * 200 });
  });

  it.each(["heap", "waste", "workingset"])(
    "is looked at by a tool, whole from the second run on (%s)",
    (tool) => {
      const folders = ["first", "second"].map((name) => join(folder, `${tool}-${name}`));
      for (const each of folders)
        memshadeRun(folder, [
          "--quiet",
          "--tool",
          tool,
          "--out",
          each,
          program,
          "another",
          "/usr/bin/env",
          program,
          "last",
        ]);
      const recorded = runIn(folders[1]);
      expect(recorded.program).toBe("replaced");
      expect(recorded.command.at(-1)).toBe("last");
      expect(gapsOf(recorded)).toContain("Only replaced is recorded: replaced, then env ran before it");
      if (tool === "heap") expect(recorded.heap!.liveBytes).toBe(5000);
      else expect(Object.keys(recorded.tools)).toContain(tool);
    },
  );

  it("is followed through scripts", () => {
    const script = join(folder, "script");
    writeFileSync(script, `#!/usr/bin/env -S sh -e\nexec ${program} last\n`);
    chmodSync(script, 0o755);
    expect(run(program, "another", script).stdout).toContain("child has ''");
    expect(runIn(out).heap!.liveBytes).toBe(5000);
    expect(gapsOf(runIn(out))).toMatch(
      /Only replaced is recorded: replaced, then env, then \w+ ran before it/,
    );
  });

  it.each([
    ["no dynamic linker", "-static"],
    ["a library that must be the first one", "-fsanitize=address"],
  ])("ends its recording where the next program has %s", (_, option) => {
    const other = join(folder, `replaced${option}`);
    const source = join(import.meta.dirname, "programs/replaced.c");
    execFileSync("gcc", [option, "-O1", source, "-o", other], { stdio: "ignore" });
    const { status, stdout } = memshadeRun(
      folder,
      ["--quiet", "--out", out, program, "another", other, "last"],
      { ...env, ASAN_OPTIONS: "detect_leaks=0" },
    );
    expect({ status, stdout: stdout.split("\n").slice(1).join("") }).toEqual({
      status: 0,
      stdout: "child has ''",
    });
    expect(runIn(out).heap!.liveBytes).toBe(350);
    expect(gapsOf(runIn(out))).toMatch(NOT_LAST);
  });
});
