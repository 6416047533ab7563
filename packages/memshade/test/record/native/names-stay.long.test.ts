import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshade, memshadeRun } from "./support/record.ts";

/* After an upgrade, or after a container is removed, the files that ran no longer exist. */
describe.skipIf(!canCompile)("a run whose program and library are gone", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-names-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const [place, gone] = ["place", "gone"].map((name) => join(folder, name));
  const tools = ["alloc", "heap", "waste", "workingset"];
  const shown = (command: string, tool: string) => memshade(folder, [command, join(folder, tool)]).stdout;
  const COMMANDS = ["report", "top", "tree"];
  let before: string[];

  beforeAll(() => {
    mkdirSync(place);
    const library = join(place, "libkept.so");
    const flags = ["-fno-builtin"];
    compileProgram("kept-names.c", library, [...flags, "-DLIBRARY", "-shared", "-fPIC"]);
    compileProgram("kept-names.c", join(place, "kept"), [...flags, library, "-Wl,-rpath,$ORIGIN"]);
    for (const tool of tools) {
      const sampled = tool === "waste" ? [] : ["--sample", "997hz"];
      const args = ["--out", join(folder, tool), "--tool", tool, ...sampled, join(place, "kept")];
      expect(memshadeRun(folder, args).status).toBe(0);
    }
    before = tools.flatMap((tool) => COMMANDS.map((command) => shown(command, tool)));
    renameSync(place, gone);
  });

  it("shows what it showed when they were there", () => {
    expect(tools.flatMap((tool) => COMMANDS.map((command) => shown(command, tool)))).toEqual(before);
    expect(shown("report", "alloc")).toMatch(/fill \(kept-names\.c:14\)/);
    expect(shown("report", "alloc")).toMatch(/library_fill \(kept-names\.c:9\)/);
  });

  it("shows it when other files have taken their places", () => {
    mkdirSync(place);
    for (const name of ["kept", "libkept.so"]) copyFileSync("/bin/true", join(place, name));
    expect(tools.flatMap((tool) => COMMANDS.map((command) => shown(command, tool)))).toEqual(before);
    rmSync(place, { recursive: true });
  });

  it("is exported, compared and checked with its names", () => {
    const run = join(folder, "alloc");
    const folded = memshade(folder, ["export", "--format", "folded", run]).stdout;
    expect(folded).toMatch(/fill/);
    expect(memshade(folder, ["diff", run, join(folder, "heap")]).stdout).not.toContain("0x");
    expect(memshade(folder, ["report", "--html", run]).status).toBe(0);
    expect(existsSync(join(run, "report.html"))).toBe(true);
  });

  it("had its names as before if it is of an earlier version, and says what is missing", () => {
    rmSync(join(folder, "alloc/names.json"));
    expect(shown("report", "alloc")).toContain("its functions have no names");
    renameSync(gone, place);
    expect(shown("report", "alloc")).toBe(before[0]);
  });

  it("is replaced with its names by another run", () => {
    const args = ["--quiet", "--out", join(folder, "heap"), join(place, "kept")];
    expect(memshadeRun(folder, args).status).toBe(0);
    expect(existsSync(join(folder, "heap/names.json"))).toBe(true);
  });
});
