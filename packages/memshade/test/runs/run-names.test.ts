import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Frame } from "../../src/names/symbolize/frame.ts";
import { NAMES_FILE } from "../../src/profile/model/run.ts";
import { RunNames } from "../../src/runs/run-names.ts";

describe("the names of a run of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-names-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, NAMES_FILE);

  const inner: Frame = {
    function: "inner()",
    linkageName: "_Z5innerv",
    file: "/src/a.cpp",
    line: 7,
    column: 3,
    startLine: 5,
    discriminator: 0,
    inlined: true,
    handsOutMemory: true,
  };
  const outer: Frame = {
    function: "main",
    linkageName: "main",
    file: undefined,
    line: 0,
    column: 0,
    startLine: 0,
    discriminator: 0,
    inlined: false,
    approximate: true,
  };

  it("are read as they were written, in the order of addresses", () => {
    const names = new RunNames();
    names.note("0x1000", 64, { frames: [inner, outer] });
    names.note("0x1000", 8, { frames: [outer] });
    names.note("0x1000", 8, { start: 4, symbolStart: 6 });
    names.ofNew("0x1000").missing = ["/src/a refers to a.dwo, which was not found."];
    names.write(folder);
    const read = RunNames.read(folder)!;
    expect(read.namesOf("0x1000")).toEqual(names.namesOf("0x1000"));
    expect([...read.namesOf("0x1000")!.places.keys()]).toEqual([8, 64]);
    expect(read.namesOf("0x2000")).toBeUndefined();
    const before = readFileSync(file);
    read.write(folder);
    expect(readFileSync(file)).toEqual(before);
  });

  it("are none where the file is missing, damaged, or of a version to come", () => {
    const whole = readFileSync(file, "utf8");
    const damaged = [
      "",
      "{",
      "[]",
      "null",
      '{"schema":"memshade-names","version":1}',
      whole.replace('"version":1', '"version":2'),
      whole.replace(/"texts":\[[^\]]*\]/, '"texts":[]'),
      whole.replace(/"frames":\[.*?\]\]/, '"frames":[]'),
      whole.replace(/"frames":\[\[.*?\]/, '"frames":[[0,0,0,"seven",0,0,0]'),
    ];
    for (const text of damaged) {
      writeFileSync(file, text);
      expect(RunNames.read(folder), text).toBeUndefined();
    }
    rmSync(file);
    expect(RunNames.read(folder)).toBeUndefined();
    new RunNames().write(folder);
    expect(RunNames.read(folder)).toBeUndefined();
  });
});
