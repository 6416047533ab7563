import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addReportCommand } from "../../src/cli/commands/report.ts";
import { addTopCommand } from "../../src/cli/commands/top.ts";
import { runWastePrint } from "../../src/cli/report/waste-print.ts";
import { UserError } from "../../src/ground/bytes/errors.ts";
import type { WorkingSetProfile } from "../../src/profile/model/working-set/working-set.ts";
import { store, wasteOf } from "../explain/analyses/waste/waste-picture.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { DATABASE } from "../show/report/pictures.ts";
import { pictureOf } from "../show/report/working-set-picture.ts";

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
const newFolder = () => fs.mkdtempSync(path.join(scratch, "run-"));
let run: string;
beforeAll(() => {
  run = writePicture(newFolder(), heapPicture(DATABASE));
});
afterAll(() => {
  fs.rmSync(scratch, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
});

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
    expect(await memshade("report", run, "--wide", "--lines", "1")).toContain(
      "more lines: --lines N shows them",
    );
    expect(await memshade("report", run, "--wide", "--lines", "50")).toBe(
      await memshade("report", run, "--wide"),
    );
  });

  it("prints JSON", async () => {
    expect(JSON.parse(await memshade("report", run, "--json", "--full"))).toMatchObject({
      schema: "memshade-report",
    });
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
    expect(lines[3]).toContain("tokenize via std::vector::_M_realloc_insert");
  });

  it.each([
    ["leak", ["--by", "live"]],
    ["size", ["--by", "bytes"]],
    ["unused", ["--by", "density", "--reverse"]],
  ])("knows another word for an order: %s", async (word, key) => {
    expect(await memshade("top", run, "--by", word)).toBe(await memshade("top", run, ...key));
    const reversed = key.includes("--reverse") ? key.slice(0, -1) : [...key, "--reverse"];
    expect(await memshade("top", run, "--by", word, "--reverse")).toBe(
      await memshade("top", run, ...reversed),
    );
  });

  it("prints JSON", async () => {
    const json = JSON.parse(await memshade("top", run, "--json", "--by", "count", "-n", "1"));
    expect(json).toMatchObject({
      schema: "memshade-top",
      by: "blocks",
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
    [["report", "x", "--lines", "0"], '--lines takes a number of lines from 1, not "0"'],
    [
      ["report", "x", "--json", "--csv"],
      "--json and --csv are different forms of the report: give one of them",
    ],
    [["report", "x", "--color", "red"], '--color takes one of auto, always, never, not "red"'],
  ])("%j: %s", async (words, message) => {
    await expect(memshade(...words)).rejects.toThrow(new UserError(message));
  });

  it("of a tool that the run was recorded without, or of no run at all", async () => {
    const without = `--tool waste needs a run that was recorded with it: ${run} is not such a run`;
    await expect(memshade("report", run, "--tool", "waste")).rejects.toThrow(new UserError(without));
    const nowhere = path.join(run, "nowhere");
    const message = `${nowhere}: there is no such file or directory`;
    for (const tool of ["heap", "waste", "workingset"])
      await expect(memshade("report", nowhere, "--tool", tool)).rejects.toThrow(new UserError(message));
    await expect(memshade("top", nowhere, "--by", "dead")).rejects.toThrow(new UserError(message));
  });

  it("of a print of waste that the run was recorded without, given by its folder or a file in it", () => {
    for (const input of [run, path.join(run, "waste.json"), path.join(run, "run.json")])
      expect(() => runWastePrint(input, 5)).toThrow(
        new UserError(
          `${input} has no dead stores, silent stores or silent loads: record the program with --tool waste`,
        ),
      );
  });

  it("of a print of waste from another file, with what it is and what reads it", () => {
    const folder = newFolder();
    const whyOf = (contents: string | Uint8Array): string => {
      const file = path.join(folder, "file");
      fs.writeFileSync(file, contents);
      try {
        return runWastePrint(file, 5);
      } catch (error) {
        return (error as UserError).message.replace(
          `${file} has no dead stores, silent stores or silent loads: `,
          "",
        );
      }
    };
    const working = `{"schema":"memshade-working-set","version":1,"command":["app"]}`;
    expect(whyOf(working)).toBe("it is a working-set recording, which memshade report reads");
    const heap = fs.readFileSync(path.join(run, "heap.memprofraw"));
    expect(whyOf(heap)).toBe("it is a heap recording, which memshade report reads");
    expect(whyOf(`{"schema":"memshade-statics"}`)).toMatch(/^it is the statics\.json of a run/);
    expect(whyOf("")).toMatch(/: the file is empty$/);
    expect(whyOf(`{"stores":[]}`)).toMatch(/: the file\.command should be text, but it is missing$/);
  });

  it("of pairs that the run was recorded without, by their own name", async () => {
    await expect(memshade("top", run, "--by", "dead-pairs")).rejects.toThrow(
      /^--by dead-pairs needs a run with --tool waste .*: .* has heap$/,
    );
  });

  it("of a measure that there is not, with those most like it", async () => {
    await expect(memshade("top", "x", "--by", "peek")).rejects.toThrow(
      /^--by takes one of bytes, peak, left, .* that memshade top --help lists, not "peek"; most like it is peak$/,
    );
  });

  it("of lines without --wide", async () => {
    const message = "--lines is an option of --wide: add --wide";
    await expect(memshade("report", run, "--lines", "3")).rejects.toThrow(new UserError(message));
    await expect(memshade("top", run, "--lines", "3")).rejects.toThrow(new UserError(message));
  });

  it("of ranking by accesses what was recorded without counting any", async () => {
    const description = JSON.parse(fs.readFileSync(path.join(run, "run.json"), "utf8"));
    description.tools.heap.counters = "none";
    const folder = newFolder();
    fs.copyFileSync(path.join(run, "heap.memprofraw"), path.join(folder, "heap.memprofraw"));
    fs.writeFileSync(path.join(folder, "run.json"), JSON.stringify(description));
    for (const by of ["density", "accesses"])
      await expect(memshade("top", folder, "--by", by)).rejects.toThrow(
        `--by ${by} needs a run with --tool heap: ${folder} has bytes, `,
      );
  });

  it("of ranking by lost blocks what was recorded of a native program", async () => {
    const description = JSON.parse(fs.readFileSync(path.join(run, "run.json"), "utf8"));
    delete description.heap.reach;
    for (const module of description.modules) module.object = { kind: "elf", address: 4096 };
    const folder = newFolder();
    fs.copyFileSync(path.join(run, "heap.memprofraw"), path.join(folder, "heap.memprofraw"));
    fs.writeFileSync(path.join(folder, "run.json"), JSON.stringify(description));
    await expect(memshade("top", folder, "--by", "lost")).rejects.toThrow(
      new UserError(`--by lost is unknown for ${folder}: the memory was not searched for pointers to blocks`),
    );
  });

  it("of ranking by what a raw file alone does not know", async () => {
    const file = path.join(run, "copy.memprofraw");
    fs.copyFileSync(path.join(run, "heap.memprofraw"), file);
    await expect(memshade("top", file, "--by", "peak")).rejects.toThrow(
      /--by peak needs a run with --tool heap .*: .* has bytes, blocks, /,
    );
  });
});

describe("runs with a working set", () => {
  /** A run of several tools, without the programs that made it. */
  function folderWith(profile: WorkingSetProfile): string {
    const folder = writePicture(newFolder(), heapPicture(DATABASE));
    fs.writeFileSync(path.join(folder, "workingset.json"), JSON.stringify(profile));
    return folder;
  }
  const plain = pictureOf(["abcd", "ab", "a"], ["parse", "parse", "sum"]);
  const withLocality = structuredClone(plain);
  const site = (offset: number, name: string, misses: number) => ({
    frame: { function: 1, offset, name },
    references: misses * 2,
    misses,
    cold: 1,
  });
  withLocality.instances[0].locality = {
    method: "shards",
    references: 10_000,
    sampled: 100,
    rate: 0.01,
    cold: 2,
    distances: [[700, 98]],
    times: [[900, 98]],
    firsts: [[1, 2]],
    lasts: [[1, 2]],
    sites: [site(7, "load", 40), site(3, "store", 20)],
    otherSites: { sites: 1, misses: 20 },
    sitesAtLines: 512,
  };

  it("print one JSON document with the reports of all tools", async () => {
    const report = JSON.parse(await memshade("report", folderWith(plain), "--json", "--full"));
    expect(report).toMatchObject({
      schema: "memshade-run-report",
      version: 2,
      tools: { heap: { schema: "memshade-report" }, workingset: { schema: "memshade-working-set" } },
    });
    const alone = await memshade("report", folderWith(plain), "--json", "--full", "--tool", "workingset");
    expect(JSON.parse(alone)).toMatchObject({ schema: "memshade-working-set" });
  });

  it("are incomplete without the file that they speak of", async () => {
    const picture = heapPicture(DATABASE);
    picture.run.files.workingset = "workingset.json";
    const folder = writePicture(newFolder(), picture);
    const message = `${folder} is incomplete: workingset.json is missing`;
    await expect(memshade("report", folder)).rejects.toThrow(new UserError(message));
    await expect(memshade("top", folder, "--by", "lines")).rejects.toThrow(new UserError(message));
  });

  it("say once what several tools left out", async () => {
    const sentence = "Nothing is known of the second module.";
    const picture = heapPicture(DATABASE);
    picture.run.notTracked = [sentence];
    const folder = writePicture(newFolder(), picture);
    const profile = { ...plain, notTracked: [sentence, "Time stood still."] };
    fs.writeFileSync(path.join(folder, "workingset.json"), JSON.stringify(profile));
    const text = await memshade("report", folder);
    expect(text.split(sentence)).toHaveLength(2);
    expect(text).toMatch(/Working set of [\s\S]*! Read this first\n {2}· Time stood still\./);
    expect(await memshade("report", folder, "--tool", "workingset")).toContain(sentence);
  });

  it("rank functions by the working sets that ended in them", async () => {
    const text = await memshade("top", folderWith(plain), "--by", "lines");
    expect(text).toMatch(
      /LARGEST +MEAN +INTERVALS {2}SITE\n +256 B +192 B +2 {2}parse \S+\n +64 B +64 B +1 {2}sum/,
    );
    const json = JSON.parse(await memshade("top", folderWith(plain), "--by", "lines", "--json", "-n", "1"));
    expect(json).toMatchObject({ unit: "bytes", total: null, rowsOmitted: 1 });
    expect(json.rows).toMatchObject([
      { value: 256, beside: { "mean-workingset": 192, intervals: 2 }, place: { function: "parse" } },
    ]);
  });

  it("rank instructions by the misses of the whole run", async () => {
    const text = await memshade("top", folderWith(withLocality), "--by", "misses");
    expect(text).toMatch(/^Most cache misses +8,000 in 2 sites\n/);
    expect(text).toContain("Misses are those of a fully associative cache of 32 KiB.");
    expect(text).toMatch(/4,000 +50\.0 % +8,000 {2}load \(\+0x7\)/);
    const json = JSON.parse(await memshade("top", folderWith(withLocality), "--by", "cold", "--json"));
    expect(json).toMatchObject({ by: "cold-misses", total: 200, rows: [{ value: 100, part: 0.5 }, {}] });
    const reversed = await memshade("top", folderWith(withLocality), "--by", "misses", "--reverse");
    expect(reversed.indexOf("store")).toBeLessThan(reversed.indexOf("load"));
  });

  it("say in one line what they were recorded without", async () => {
    await expect(memshade("top", folderWith(plain), "--by", "misses")).rejects.toThrow(
      /^--by misses needs a run of a WebAssembly program with --tool workingset --locality: .* has workingset, new, /,
    );
    await expect(memshade("top", run, "--by", "lines")).rejects.toThrow(
      /^--by lines needs a run with --tool workingset .*: .* has heap$/,
    );
  });

  it("write their curves as CSV behind the series", async () => {
    const text = await memshade("report", folderWith(withLocality), "--csv");
    const [series, curve] = text.split("\n\n");
    expect(series).toMatch(/^instance,module,factor/);
    expect(curve).toMatch(
      /^instance,module,method,rate,lines,bytes,missRatio\n0,program\.wasm,shards,0\.01,64,4096,1\n/,
    );
  });
});

describe("what a run took", () => {
  const presence = { modules: 474 << 10, shadow: 41 << 20, recorded: 86 << 10 };
  const cost = { peakBytes: 939 << 20, processorMs: 5210, rewritingMs: 2100, profileMs: 88 };
  const measured = JSON.stringify({ schema: "memshade-measured", version: 1, ...cost });
  const PROCESS =
    "process used 939 MiB at its peak and 5.21 s of processor time, program and profiler together; " +
    "2.1 s of that rewrote modules and 88 ms made the profile";

  /** A run of all tools, with a file of measurements if `text` is given. */
  function folderWith(text: string | undefined, names = { measured: "measured.json" }): string {
    const picture = heapPicture(DATABASE);
    const files = { heap: "heap.memprofraw", waste: "waste.json", workingset: "workingset.json", ...names };
    const folder = writePicture(newFolder(), { ...picture, run: { ...picture.run, presence, files } });
    const waste = wasteOf({ stores: [store("parse", 88, { nof_stores: 1 })] });
    fs.writeFileSync(path.join(folder, "waste.json"), JSON.stringify(waste));
    fs.writeFileSync(
      path.join(folder, "workingset.json"),
      JSON.stringify(pictureOf(["abcd", "ab", "a"], ["parse", "parse", "sum"])),
    );
    if (text !== undefined) fs.writeFileSync(path.join(folder, "measured.json"), text);
    return folder;
  }
  const flowing = (text: string) => text.toLowerCase().replace(/\s+/g, " ");

  it.each(["heap", "waste", "workingset"])(
    "is at the end of the report of %s, within a terminal's width",
    async (tool) => {
      const folder = folderWith(measured);
      const text = await memshade("report", folder, "--tool", tool);
      expect(flowing(text)).toContain(flowing(PROCESS));
      const lines = text.slice(text.indexOf("\nCost of profiling\n")).split("\n");
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
      const json = JSON.parse(await memshade("report", folder, "--tool", tool, "--json", "--full"));
      expect(json.presence).toEqual({ ...presence, process: cost, memory: null });
    },
  );

  it("is of the profiler alone where a page ran in a browser", async () => {
    const elsewhere = JSON.stringify({ ...JSON.parse(measured), profilerAlone: true });
    const text = flowing(await memshade("report", folderWith(elsewhere)));
    expect(text).toContain(
      "5.21 s of processor time, the profiler's alone, without the browser; 2.1 s of that",
    );
  });

  it("is said once in the report of several tools", async () => {
    const text = await memshade("report", folderWith(measured));
    expect(flowing(text).split(flowing(PROCESS))).toHaveLength(2);
  });

  it.each([
    ["an earlier version wrote none", undefined, {}],
    ["it is missing", undefined, undefined],
    ["it is cut off", measured.slice(0, 60), undefined],
    ["it is empty", "", undefined],
    ["it is another file", "[]", undefined],
    ["a figure is no number", measured.replace("5210", '"long"'), undefined],
  ] as [string, string | undefined, { measured: string } | undefined][])(
    "is left out where %s, and all else is as it was",
    async (_what, text, names) => {
      const folder = folderWith(text, names);
      for (const tool of ["heap", "waste", "workingset"]) {
        const report = await memshade("report", folder, "--tool", tool);
        expect(flowing(report)).toContain("used 41.0 mib for shadow memory and tables");
        expect(flowing(report)).not.toContain("processor time, program");
        const json = JSON.parse(await memshade("report", folder, "--tool", tool, "--json", "--full"));
        expect(json.presence).toEqual({ ...presence, process: null, memory: null });
      }
    },
  );
});
