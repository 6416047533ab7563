import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import { describe, expect, it } from "vitest";
import { writePprof } from "../../../../src/profile/formats/pprof/write.ts";
import { sampleProfileOf } from "../../../sample-picture.ts";

const VALUE_TYPES = [
  { type: "alloc_objects", unit: "count" },
  { type: "alloc_space", unit: "bytes" },
] as const;
const PICTURE = "main > ~each > visit : 3 128\nmain > ~each > visit : 1 2\nmain : 1 4";

const hasGo = spawnSync("go", ["version"]).status === 0;
if (!hasGo) console.warn("SKIPPED: go is not installed, its pprof does not read our files");

describe("a pprof profile", () => {
  const bytes = writePprof(sampleProfileOf(PICTURE, { valueTypes: VALUE_TYPES }));
  const profile = Profile.decode(bytes);
  const text = (index: unknown) => profile.stringTable.strings[Number(index)];

  it("names its values and shows the last of them first, as readers do", () => {
    expect(profile.sampleType.map(({ type, unit }) => [text(type), text(unit)])).toEqual([
      ["alloc_objects", "count"],
      ["alloc_space", "bytes"],
    ]);
    expect(text(0)).toBe("");
    expect(Number(profile.defaultSampleType)).toBe(0);
  });

  it("sums equal stacks, leaf first, and makes one location of inlined frames, innermost first", () => {
    const functions = new Map(profile.function.map((entry) => [Number(entry.id), text(entry.name)]));
    const locations = new Map(
      profile.location.map(({ id, line }) => [
        Number(id),
        line.map(({ functionId, line: number }) => `${functions.get(Number(functionId))}:${number}`),
      ]),
    );
    expect(
      profile.sample.map(({ locationId, value }) => ({
        stack: locationId.map((id) => locations.get(Number(id))),
        value: value.map(Number),
      })),
    ).toEqual([
      { stack: [["visit:5"], ["each:4", "main:4"]], value: [4, 130] },
      { stack: [["main:4"]], value: [1, 4] },
    ]);
  });

  it("tells readers not to look for symbols of their own", () => {
    const [mapping] = profile.mapping;
    expect(mapping).toMatchObject({ hasFunctions: true, hasInlineFrames: true, hasLineNumbers: true });
    expect([text(mapping!.filename), text(mapping!.buildId)]).toEqual(["/bin/app", "00ff"]);
    expect(profile.function.map(({ systemName }) => text(systemName))).toContain("_Zvisit");
  });

  it.skipIf(!hasGo)("is read by go tool pprof", () => {
    const folder = mkdtempSync(join(tmpdir(), "memshade-pprof-"));
    try {
      const file = join(folder, "heap.pb.gz");
      writeFileSync(file, gzipSync(bytes));
      const { stdout, stderr } = spawnSync(
        "go",
        ["tool", "pprof", "-top", "-sample_index=alloc_space", file],
        {
          encoding: "utf8",
          env: { ...process.env, HOME: folder },
        },
      );
      expect(stdout, stderr).toMatch(/130B.*visit/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
