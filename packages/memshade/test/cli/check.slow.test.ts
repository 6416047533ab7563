import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const cwd = newFolder();
writePicture(path.join(cwd, "old"), heapPicture("main > parse  10 x 100  peak 4"));
writePicture(path.join(cwd, "new"), heapPicture("main > parse  15 x 100  peak 4  live 2"));
fs.writeFileSync(path.join(cwd, "memory.yaml"), "limits:\n  - peak < 8 MiB\n  - left = 0\n");

const check = (...args: string[]) => memshade(["check", ...args], { cwd });

describe("memshade check", () => {
  it("ends with 0 where all limits hold, with 1 where one fails", async () => {
    const good = await check("old", "--budget", "memory.yaml");
    expect(good).toMatchObject({ code: 0, stderr: "" });
    expect(good.stdout).toMatch(/^all 2 limits hold$/m);
    const bad = await check("new", "--budget", "memory.yaml", "--limit", "bytes<=1500");
    expect(bad).toMatchObject({ code: 1, stderr: "" });
    expect(bad.stdout).toMatch(/^FAILED left = 0\n {7}200 B, not 0 B\n {7}most at parse/m);
    expect(bad.stdout).toMatch(/^1 of 3 limits failed$/m);
  });

  it("ends with 3 where none fails and a figure is known to be incomplete", async () => {
    const { run, raw } = heapPicture("main > parse  15 x 100  peak 4  live 2");
    run.heap!.overflow.blocks = 3;
    writePicture(path.join(cwd, "full"), { run, raw });
    const open = await check("full", "--limit", "left<1MiB", "--limit", "blocks=15");
    expect(open).toMatchObject({ code: 3, stderr: "" });
    expect(open.stdout).toMatch(/^UNDECIDED left<1MiB\n {7}at least 200 B, not known whether below/m);
    expect(open.stdout).toMatch(/^ok {5}blocks=15$/m);
    expect(open.stdout).toMatch(/^1 of 2 limits is undecided$/m);
    expect(await check("full", "--limit", "left<1MiB", "--limit", "left=0")).toMatchObject({ code: 1 });
    const quiet = await check("full", "--limit", "left<1MiB", "--format", "json", "-o", "full.json");
    expect(quiet.code).toBe(3);
    expect(quiet.stderr).toMatch(
      /^memshade: left<1MiB: left is at least 200 B.*\nmemshade: the limit is undecided\n$/,
    );
  });

  it("lists what can be limited, as JSON too", async () => {
    const { code, stdout } = await check("--list", "--format", "json");
    expect(code).toBe(0);
    const { schema, measures } = JSON.parse(stdout);
    expect(schema).toBe("memshade-measures");
    expect(measures).toContainEqual(expect.objectContaining({ word: "peak", tool: "heap", unit: "bytes" }));
    expect(await check("--list", "--format", "sarif")).toMatchObject({ code: 2, stdout: "" });
  });

  it("compares with a baseline", async () => {
    const { code, stdout } = await check(
      "new",
      "--baseline",
      "old",
      "--limit",
      "bytes<+49%",
      "--limit",
      "peak<=+0",
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAILED bytes<\+49%$/m);
    expect(stdout).toMatch(/^ok {5}peak<=\+0$/m);
  });

  it.each([
    [["new"], /no limits were given/],
    [["new", "--limit", "peek<5"], /"peek" is no measure/],
    [["new", "--limit", "peak<+5"], /give one with --baseline RUN/],
    [["new", "--limit", "peak<5%", "--baseline", "old"], /no limit is relative to it/],
    [["new", "--limit", "dead<5%"], /does not have dead: it takes a run with --tool waste/],
    [["new", "--budget", "none.yaml"], /none\.yaml cannot be read/],
    [["new", "--limit", "peak<5", "--format", "xml"], /--format takes one of/],
    [["nowhere", "--limit", "peak<5"], /no such file/],
  ] as const)("ends with 2 and one line for a mistake: %j", async (args, message) => {
    const { code, stdout, stderr } = await check(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^memshade: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  it("writes other forms to files, and says on the standard error what fails", async () => {
    const { code, stdout, stderr } = await check(
      "new",
      "--limit",
      "left=0",
      "--format",
      "sarif",
      "-o",
      "out.sarif",
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^memshade: left=0: left is 200 B, not 0 B; most at parse/);
    expect(JSON.parse(fs.readFileSync(path.join(cwd, "out.sarif"), "utf8")).runs[0].results).toHaveLength(1);
  });

  it("appends to the summary of a job", async () => {
    const summary = path.join(cwd, "summary.md");
    fs.writeFileSync(summary, "# before\n");
    const args = ["check", "new", "--limit", "left=0", "--format", "github"];
    const { stdout } = await memshade(args, { cwd, env: { GITHUB_STEP_SUMMARY: summary } });
    expect(stdout).toMatch(/^::error .*title=memshade%3A left=0::left is 200 B/);
    expect(fs.readFileSync(summary, "utf8")).toMatch(/^# before\n### Memory of app: 1 of 1 limit failed/);
  });

  it("lists what can be limited", async () => {
    const { code, stdout } = await check("--list");
    expect(code).toBe(0);
    for (const word of ["peak", "left", "dead", "workingset", "findings", "leak"])
      expect(stdout).toMatch(new RegExp(`^  ${word} `, "m"));
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });
});
