import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAIN } from "../../../command.ts";
import { contextsIn } from "../support/compare-runs.ts";
import { canCompile, compileProgram } from "../support/record.ts";

describe.skipIf(!canCompile)("a program whose system gives out no namespace", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-without-namespace-"));
  const inFolder = (name: string): string => join(folder, name);
  const command = (args: readonly string[]) => [process.execPath, MAIN, "run", ...args];
  const start = ([file, ...args]: readonly string[]) =>
    spawnSync(file, args, { encoding: "utf8", cwd: folder });
  const refused = (args: readonly string[]) => start([inFolder("without-namespaces"), ...command(args)]);

  beforeAll(() => {
    compileProgram("../rewritten/programs/without-namespaces.c", inFolder("without-namespaces"));
    compileProgram("../rewritten/programs/many-ways.c", inFolder("many-ways"), ["-pthread"]);
    compileProgram("several.c", inFolder("several"), ["-fno-inline", "-pthread"]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(["heap", "waste", "workingset"])(
    "does what it does alone, with its own name, under --tool %s",
    (tool) => {
      const alone = start([inFolder("many-ways")]);
      const { status, stdout, stderr } = refused([
        "--tool",
        tool,
        "--out",
        inFolder(tool),
        inFolder("many-ways"),
      ]);
      expect({ status, stdout }).toEqual({ status: alone.status, stdout: alone.stdout });
      expect(stderr).toContain(
        "does not allow a mount namespace, in which instrumented files replace the originals (not permitted)",
      );
      expect(readFileSync(join(folder, tool, "run.json"), "utf8")).toContain(
        "/proc/self/exe leads to a copy of the program",
      );
    },
  );

  it("has the call paths and counts of a run in a namespace", () => {
    const tool = ["--quiet", "--tool", "heap", "--out"];
    refused([...tool, inFolder("refused"), inFolder("several")]);
    start(command([...tool, inFolder("granted"), inFolder("several")]));
    expect(contextsIn(inFolder("refused"))).toEqual(contextsIn(inFolder("granted")));
    expect(contextsIn(inFolder("refused")).size).toBeGreaterThan(4);
  });

  it("is refused where its children are to be recorded, too, with what helps", () => {
    const { status, stderr, stdout } = refused(["--tool", "heap", "--trace-children", inFolder("several")]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(
      /^memshade: the system does not allow a mount namespace.*run it without --tool.*\n$/,
    );
  });
});
