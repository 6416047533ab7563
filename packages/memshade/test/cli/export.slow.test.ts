import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addExportCommand } from "../../src/cli/commands/export.ts";
import { UserError } from "../../src/ground/bytes/errors.ts";
import { writeRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import { store, wasteOf } from "../explain/analyses/waste/waste-picture.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { readStacks, sumsOf } from "../show/exports/readers.ts";
import { DATABASE } from "../show/report/pictures.ts";
import { pictureOf } from "../show/report/working-set-picture.ts";

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
const inScratch = (name: string) => path.join(scratch, name);
const run = inScratch("app.7");
const { run: description } = heapPicture(DATABASE);
function runWith(tool: "waste" | "workingset", content: unknown): string {
  const folder = inScratch(`${tool}.1`);
  const file = `${tool}.json`;
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, file), JSON.stringify(content));
  const changes = { tools: { [tool]: {} }, files: { [tool]: file }, heap: undefined };
  fs.writeFileSync(path.join(folder, "run.json"), JSON.stringify({ ...description, ...changes }));
  return folder;
}
let waste: string;
let workingset: string;
beforeAll(() => {
  writePicture(run, heapPicture(DATABASE));
  waste = runWith(
    "waste",
    wasteOf({ stores: [store("fill", 4, { bytes_written: 9, dead_overwritten: 8 })] }),
  );
  workingset = runWith("workingset", pictureOf(["ab", "a"], ["read", "parse"]));
});
afterAll(() => fs.rmSync(scratch, { recursive: true }));
const { isTTY } = process.stdout;
afterEach(() => {
  process.stdout.isTTY = isTTY;
  vi.restoreAllMocks();
});

async function memshade(...words: string[]): Promise<{ printed: Buffer; said: string }> {
  const program = new Command("memshade").exitOverride();
  addExportCommand(program);
  const pieces: Buffer[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((piece) => {
    pieces.push(Buffer.from(piece as string));
    return true;
  });
  let said = "";
  vi.spyOn(fs, "writeSync").mockImplementation((_, bytes) => {
    said += Buffer.from(bytes as unknown as Uint8Array).toString();
    return (bytes as unknown as Uint8Array).length;
  });
  await program.parseAsync(["export", ...words], { from: "user" });
  return { printed: Buffer.concat(pieces), said };
}

const printed = async (...words: string[]) => (await memshade(...words)).printed;

describe("memshade export", () => {
  it("writes the heap by default, with all that it knows", async () => {
    const sums = sumsOf(readStacks("pprof", await printed(run, "--format", "pprof")));
    expect(sums).toMatchObject({ alloc_objects: 130_216, peak_space: 9_719_016 });
    const weight = sumsOf(readStacks("folded", await printed(run, "--format", "folded"))).weight;
    expect(weight).toBe(sums.peak_space);
  });

  it("writes the weight that was asked for, by its key, its name in files, or another word", async () => {
    const folded = async (by: string) => `${await printed(run, "--format", "folded", "--by", by)}`;
    expect(await folded("live")).toMatch(/^main;log;strdup 1600$/m);
    expect(await folded("inuse_space")).toBe(await folded("live"));
    expect(await folded("leak")).toBe(await folded("live"));
    const pprof = await printed(run, "--format", "pprof", "--by", "live");
    expect(pprof.equals(await printed(run, "--format", "pprof"))).toBe(false);
  });

  it("is the same in two runs, byte for byte", async () => {
    for (const format of ["pprof", "firefox", "speedscope", "folded", "dhat", "heapprofile"])
      expect((await printed(run, "--format", format)).equals(await printed(run, "--format", format))).toBe(
        true,
      );
  });

  it("writes waste and working sets of runs that have them", async () => {
    expect(`${await printed(waste, "--format", "folded", "--tool", "waste")}`).toBe("fill 8\n");
    expect(`${await printed(workingset, "--format", "folded", "--tool", "workingset")}`).toBe(
      "main;read 128\n",
    );
    expect(`${await printed(workingset, "--format", "csv")}`).toMatch(/^instance,module,factor,/);
    const trace = JSON.parse(`${await printed(workingset, "--format", "chrome-trace")}`);
    expect(trace.traceEvents[0].args.name).toMatch(/^working set of/);
  });

  it("writes recorded paths as if they were in another folder", async () => {
    const words = [waste, "--format", "speedscope", "--tool", "waste"];
    const fileOf = (content: Buffer) => JSON.parse(`${content}`).shared.frames[0].file;
    expect(fileOf(await printed(...words))).toBe("src/fill.c");
    expect(fileOf(await printed(...words, "--path-map", "src=lib/own"))).toBe("lib/own/fill.c");
  });

  it("writes files whole, and says how to open them", async () => {
    const file = inScratch("heap.pb.gz");
    vi.restoreAllMocks();
    const program = new Command("memshade").exitOverride();
    addExportCommand(program);
    await program.parseAsync(["export", run, "--format", "pprof", "-o", file], { from: "user" });
    expect(sumsOf(readStacks("pprof", fs.readFileSync(file))).alloc_objects).toBe(130_216);
  });

  it.each(["", "run.json", "waste.json"])("never writes over what it reads: %j", async (name) => {
    const [input, file] = name === "" ? [path.join(waste, "waste.json"), ""] : [waste, name];
    const before = fs.readFileSync(path.join(waste, "waste.json"));
    const words = ["--tool", "waste", "--format", "folded", "-o", path.join(waste, file || "waste.json")];
    await expect(memshade(input, ...words)).rejects.toThrow("is the input: write to another file");
    expect(fs.readFileSync(path.join(waste, "waste.json"))).toEqual(before);
  });

  it("leaves no file behind where an amount does not fit", async () => {
    const huge = inScratch("huge.memprofraw");
    const { raw } = heapPicture("main > a  1 x 8  access 9007199254740993");
    fs.writeFileSync(huge, writeRaw(raw, 4));
    const file = inScratch("huge.firefox.json");
    await expect(memshade(huge, "--format", "firefox", "-o", file)).rejects.toThrow("cannot write accesses");
    expect(fs.readdirSync(scratch).filter((name) => name.includes("huge.firefox"))).toEqual([]);
  });

  it("writes nothing binary to a terminal", async () => {
    process.stdout.isTTY = true;
    await expect(memshade(run, "--format", "pprof", "-o", "-")).rejects.toThrow(
      "pprof files are binary: write them to a file with -o FILE, or to a pipe",
    );
    expect(`${await printed(run, "--format", "folded", "-o", "-")}`).toContain("main;exec");
  });

  it.each([
    [["--format", "perf"], "--format takes one of pprof, firefox, speedscope, folded, dhat, heapprofile, "],
    [[], "--format is missing: give one of pprof, firefox, "],
    [
      ["--format", "pprof", "--tool", "time"],
      "--tool takes one of heap, waste, workingset, objects, cpu, not ",
    ],
    [["--format", "pprof", "--tool", "cpu"], "it was recorded without --sample"],
    [["--format", "pprof", "--tool", "waste"], "--tool waste needs a run that was recorded with it: "],
    [["--format", "pprof", "--tool", "workingset"], "it was recorded without --tool workingset"],
    [["--format", "folded", "--by", "speed"], "--by takes one of bytes, peak, left, "],
    [
      ["--format", "folded", "--by", "dead"],
      "--by dead is for --tool waste; that of heap takes one of bytes, ",
    ],
    [["--format", "folded", "--by", "lost"], "does not know lost: it has bytes, peak, "],
    [["--format", "heapprofile", "--by", "count"], "heapprofile files hold bytes: --by takes one of bytes, "],
    [["--format", "dhat", "--by", "peak"], "leave out --by"],
    [["--format", "csv"], "no heap over time: --format csv needs a run of memshade with the heap tool"],
    [["--format", "chrome-trace", "--tool", "waste"], "waste has none"],
    [["--format", "chrome-trace", "--by", "peak"], "have no stacks: leave out --by"],
    [["--format", "folded", "-o", "/nowhere/heap.folded"], "cannot write /nowhere/heap.folded: "],
    [["--format", "folded", "-o", os.tmpdir()], "it is a folder"],
  ])("refuses %j in one line", async (words, message) => {
    const failure = await memshade(run, ...words).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(UserError);
    expect((failure as UserError).message).toContain(message);
    expect((failure as UserError).message).not.toContain("\n");
  });

  it("writes what a run without a heap has", async () => {
    expect(await memshade(waste, "--format", "folded")).toEqual(
      await memshade(waste, "--format", "folded", "--tool", "waste"),
    );
    await expect(memshade(scratch, "--format", "pprof")).rejects.toThrow("is not a memshade run");
  });
});
