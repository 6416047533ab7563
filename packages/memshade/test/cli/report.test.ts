import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { UserError } from "../../src/bytes/errors.ts";
import { addReportCommand } from "../../src/cli/commands/report.ts";
import { addTopCommand } from "../../src/cli/commands/top.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { DATABASE } from "../report/pictures.ts";

let run: string;
beforeAll(() => {
  run = writePicture(fs.mkdtempSync(path.join(os.tmpdir(), "memshade-")), heapPicture(DATABASE));
});
afterAll(() => {
  fs.rmSync(run, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What the command prints to standard output. */
async function memshade(...words: string[]): Promise<string> {
  const program = new Command("memshade").exitOverride();
  addReportCommand(program);
  addTopCommand(program);
  let printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
  await program.parseAsync(words, { from: "user" });
  return printed;
}

describe("memshade report", () => {
  it("prints the report of a run, without colours where there is no terminal", async () => {
    const printed = await memshade("report", run);
    expect(printed).toMatch(/^Heap profile of app +exit code 0\n/);
    expect(printed).toContain("Who owns the heap at its peak");
    expect(printed).not.toContain("\u001b");
  });

  it("colours, widens and lengthens on request", async () => {
    expect(await memshade("report", run, "--color=always")).toContain("\u001b[");
    expect(await memshade("report", run, "--wide")).toContain("__gnu_cxx::__normal_iterator");
    expect(await memshade("report", run, "-n", "1")).toContain("more sites");
  });

  it("prints JSON", async () => {
    expect(JSON.parse(await memshade("report", run, "--json"))).toMatchObject({ schema: "memshade-report" });
  });
});

describe("memshade top", () => {
  it("ranks sites by bytes, 20 at most", async () => {
    const lines = (await memshade("top", run)).split("\n");
    expect(lines[0]).toMatch(/^Most bytes allocated +\S+ MiB in 8 sites$/);
    expect(lines[3]).toMatch(/^ +9\.98 MiB .* allocPage$/);
  });

  it("takes another key, another grouping, another order and a number of rows", async () => {
    const lines = (
      await memshade("top", run, "--by", "lifetime", "--group", "path", "--reverse", "-n", "1")
    ).split("\n");
    expect(lines[0]).toMatch(/^Shortest mean lifetime +9 call paths$/);
    expect(lines[3]).toContain("std::vector");
  });

  it("prints JSON", async () => {
    const json = JSON.parse(await memshade("top", run, "--json", "--by", "count", "-n", "1"));
    expect(json).toMatchObject({
      schema: "memshade-top",
      by: "count",
      rows: [{ value: 90_000 }],
      rowsOmitted: 7,
    });
  });
});

describe("mistakes", () => {
  it.each([
    [["report", "/nowhere"], "/nowhere: there is no such file or directory"],
    [["top", "x", "-n", "0"], '-n takes a number of rows from 1, not "0"'],
    [["top", "x", "-n", "many"], '-n takes a number of rows from 1, not "many"'],
    [["top", "x", "--group", "line"], '--group takes one of path, site, function, not "line"'],
    [["report", "x", "--color", "red"], '--color takes one of auto, always, never, not "red"'],
  ])("%j: %s", async (words, message) => {
    await expect(memshade(...words)).rejects.toThrow(new UserError(message));
  });

  it("of ranking by what a raw file alone does not know", async () => {
    const file = path.join(run, "copy.memprofraw");
    fs.copyFileSync(path.join(run, "heap.memprofraw"), file);
    await expect(memshade("top", file, "--by", "peak")).rejects.toThrow(
      /--by peak needs a run: .* without its run\.json/,
    );
  });
});
