import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runTree, type TreeOptions } from "../../src/cli/commands/tree.ts";
import { writePprof } from "../../src/profile/formats/pprof/write.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";
import { sampleProfileOf } from "../sample-picture.ts";
import { sharedPath } from "../shared-path.ts";
import { pictureOf } from "../show/report/working-set-picture.ts";

const terminal = { isTerminal: false, environment: {} };
const usual: TreeOptions = { group: "site", color: "never" };
const recording = sharedPath("fixtures/unwind/perf-dwarf/perf.data");
const memprof = sharedPath("fixtures/memprof/c-basic/v4.memprofraw");
let folder: string;
let run: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
  run = writePicture(
    path.join(folder, "run"),
    heapPicture("main > parse  10 x 100  peak 4 live 2\nmain > load  1 x 8"),
  );
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

const tree = (options: Partial<TreeOptions>, input = run) =>
  runTree(input, { ...usual, ...options }, terminal);

describe("memshade tree", () => {
  it("shows the call tree of a run by what was asked for", async () => {
    expect(await tree({})).toMatch(/1,008 B +100 % +· {2}main/);
    expect(await tree({ by: "left" })).toMatch(/200 B +100 % +200 B {2}parse/);
    expect(await tree({ by: "leak", invert: true })).toMatch(
      /200 B +100 % {2}parse.*\n +200 B +100 % {2}main/,
    );
  });

  it("has the same as JSON, whole", async () => {
    expect(JSON.parse(await tree({ by: "left", json: true }))).toEqual({
      schema: "memshade-tree",
      version: 2,
      input: run,
      tool: "heap",
      by: "left",
      unit: "bytes",
      group: "site",
      inverted: false,
      total: 200,
      paths: 1,
      notTracked: [],
      roots: [
        {
          function: "main",
          address: 272,
          places: 1,
          total: 200,
          own: 0,
          children: [{ function: "parse", address: 528, places: 1, total: 200, own: 200, children: [] }],
        },
      ],
    });
    const cut = JSON.parse(await tree({ depth: 1, json: true }));
    expect(cut.roots[0]).toMatchObject({ total: 1008, children: [], omitted: { nodes: 2, total: 1008 } });
  });

  it("says in one line what a run has not", async () => {
    await expect(tree({ by: "dead" })).rejects.toThrow(
      "--by dead needs a run that was recorded with --tool waste",
    );
    await expect(tree({ tool: "waste" })).rejects.toThrow("--tool waste needs a run");
    await expect(tree({ by: "dead", tool: "heap" })).rejects.toThrow(
      "--by dead is a measure of --tool waste",
    );
    await expect(tree({ by: "nonsense" })).rejects.toThrow("--by takes one of bytes, peak, left");
    await expect(tree({}, path.join(folder, "none"))).rejects.toThrow("there is no such file or directory");
    const other = path.join(folder, "ws");
    fs.mkdirSync(other);
    fs.writeFileSync(path.join(other, "workingset.json"), JSON.stringify(pictureOf(["ab"], ["parse"])));
    await expect(tree({ by: "share" }, path.join(other, "workingset.json"))).rejects.toThrow(
      "--by share is unknown",
    );
    expect(await tree({ tool: "workingset" }, path.join(other, "workingset.json"))).toContain("parse");
  });

  it.skipIf(recording === undefined)("takes the samples of perf.data", async () => {
    expect(await tree({ by: "samples" }, recording)).toContain("Call tree of samples");
    await expect(tree({ tool: "heap" }, recording)).rejects.toThrow("leave out --tool");
    await expect(tree({ by: "peak" }, recording)).rejects.toThrow("it has samples");
  });

  it.skipIf(recording === undefined)(
    "takes them packed too, and packed heap profiles for what they are",
    async () => {
      const packed = path.join(folder, "perf.data.gz");
      fs.writeFileSync(packed, gzipSync(fs.readFileSync(recording!)));
      expect(await tree({}, packed)).toContain("Call tree of samples");
      const zstd = path.join(folder, "perf.data.zst");
      fs.writeFileSync(zstd, zstdCompressSync(fs.readFileSync(recording!)));
      expect(await tree({}, zstd)).toContain("Call tree of samples");
      const heap = path.join(folder, "heap.pb.gz");
      const valueTypes = [
        { type: "alloc_objects", unit: "count" },
        { type: "alloc_space", unit: "bytes" },
      ] as const;
      fs.writeFileSync(heap, gzipSync(writePprof(sampleProfileOf("main > parse : 3 128", { valueTypes }))));
      expect(await tree({}, heap)).toContain("Call tree of bytes allocated");
    },
  );

  it.skipIf(memprof === undefined)("takes profiles of MemProf, which know no peak", async () => {
    expect(await tree({}, memprof)).toContain("Call tree of bytes allocated");
    await expect(tree({ by: "peak" }, memprof)).rejects.toThrow("--by peak is unknown");
  });
});
