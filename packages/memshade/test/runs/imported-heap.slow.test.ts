import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { loadHeap } from "../../src/runs/heap.ts";
import { heapReportJson } from "../../src/show/report/json/heap-report.ts";
import { jsonText } from "../../src/show/report/json/text.ts";
import { createPaint } from "../../src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../src/show/report/terminal/heap/heap-report.ts";
import { newFolder } from "../cli/support/command-line.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/imports/", import.meta.url));
const folder = newFolder();

function fileOf(name: string, content: string | Uint8Array): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, content);
  return file;
}

const screen = { paint: createPaint(false), width: 80, isWide: false };
const report = async (input: string) => heapReport((await loadHeap(input)).profile, { ...screen, input });

describe("heap profiles of other tools", () => {
  it.each(["small.dhat.json", "small.heaptrack", "small.pb.gz"])(
    "are told apart by what is in them: %s",
    async (name) => {
      const { profile } = await loadHeap(path.join(FOLDER, name));
      expect(profile.contexts.length).toBeGreaterThan(0);
    },
  );

  it("may be packed", async () => {
    const text = fs.readFileSync(path.join(FOLDER, "small.heaptrack"));
    for (const packed of [gzipSync(text), zstdCompressSync(text)]) {
      const { profile } = await loadHeap(fileOf("packed", packed));
      expect(profile.description.importedFrom).toBe("heaptrack");
      await expect(loadHeap(fileOf("cut", packed.subarray(0, 200)))).rejects.toThrow(
        /is damaged: its \w+ data/,
      );
    }
  });

  it("say of what they do not have that it was not recorded", async () => {
    const text = await report(path.join(FOLDER, "small.pb.gz"));
    for (const line of ["Peak", "Accesses", "Lifetimes"])
      expect(text).toMatch(new RegExp(`^  ${line} +not recorded$`, "m"));
    const { profile } = await loadHeap(path.join(FOLDER, "small.pb.gz"));
    const json = JSON.parse(jsonText(heapReportJson(profile, { input: "x" })));
    expect(json).toMatchObject({
      importedFrom: "pprof",
      totals: { peakBytes: null, heapAccesses: null },
      findings: { temporary: null, writtenNeverRead: null },
      histograms: { lifetime: null },
    });
    expect(json.sites[0]).toMatchObject({ totalLifetime: null, totalAccessCount: null, peakBytes: null });
    expect(json.sites[0].liveBytes).toEqual(expect.any(Number));
  });

  it("show what was read and written in place of accesses", async () => {
    const text = await report(path.join(FOLDER, "small.dhat.json"));
    expect(text).toMatch(/^ {2}Accesses +3 B read from heap blocks, 42\.6 KiB written$/m);
    expect(text).toMatch(/1 B read · 42\.6 KiB written/);
  });

  it("are refused in one line otherwise", async () => {
    const dhat = fs.readFileSync(path.join(FOLDER, "small.dhat.json"), "utf8");
    await expect(loadHeap(fileOf("cut.json", dhat.slice(0, 900)))).rejects.toThrow(
      /cut\.json is damaged: DHAT profile at offset 0x384: the file ends inside of its JSON$/,
    );
    await expect(loadHeap(fileOf("old.json", dhat.replace('Version":2', 'Version":1')))).rejects.toThrow(
      /is of a version that is not read here: DHAT profile, version 1, not 2$/,
    );
    await expect(loadHeap(path.join(FOLDER, "cpu.pb.gz"))).rejects.toThrow(
      /cannot be read: pprof profile: it is no profile/,
    );
    await expect(loadHeap(path.join(FOLDER, "not-interpreted.heaptrack"))).rejects.toThrow(
      /heaptrack_interpret/,
    );
    await expect(loadHeap(fileOf("text", "anything"))).rejects.toThrow(
      /is not a MemProf profile, and none of DHAT, pprof, heaptrack, jemalloc or gperftools$/,
    );
  });
});

describe("a JSON file of something else", () => {
  it.each(["workingset", "renamed.json", "renamed"])("is named by its content, called %s", async (name) => {
    const file = fileOf(name, '{\n  "schema": "memshade-working-set",\n  "version": 1\n}');
    await expect(loadHeap(file)).rejects.toThrow(
      /is not a MemProf profile, .*: it is the workingset\.json of a run, and is read by that name$/,
    );
  });
});

describe("files made to fill the memory", () => {
  const dhat = JSON.parse(fs.readFileSync(path.join(FOLDER, "small.dhat.json"), "utf8"));
  const withPoint = (change: object) => JSON.stringify({ ...dhat, pps: [{ ...dhat.pps[0], ...change }] });

  it("are unpacked to no more than what is packed can be of a profile", async () => {
    const start = Uint8Array.of(0x0a, 4, 8, 1, 16, 2);
    const zeros = Buffer.concat([start, Buffer.alloc(2 ** 27)]);
    for (const packed of [gzipSync(zeros), zstdCompressSync(zeros)])
      await expect(loadHeap(fileOf("bomb", packed))).rejects.toThrow(
        /unpacked it has more than 64 MiB, too much for a profile of its size$/,
      );
  });

  it("keep the inner frames of a path that is deeper than any", async () => {
    const file = fileOf("deep.dhat.json", withPoint({ fs: new Array(100_000).fill(1) }));
    const { profile } = await loadHeap(file);
    expect(profile.stacks.length).toBeLessThan(10_000);
    expect(profile.description.notTracked).toContain(
      "1 call path has more than 4096 frames: the outer ones are left out.",
    );
  });

  it("have no more blocks than rows can be made of, all paths together", async () => {
    const many = { ...dhat.pps[0], tbk: 2 ** 45 };
    const file = fileOf("many.dhat.json", JSON.stringify({ ...dhat, pps: new Array(100).fill(many) }));
    await expect(loadHeap(file)).rejects.toThrow(/blocks are too many/);
  });
});
