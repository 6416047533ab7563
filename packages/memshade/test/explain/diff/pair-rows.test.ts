import { describe, expect, it } from "vitest";
import { pairRows } from "../../../src/explain/diff/pair-rows.ts";
import type { KeyFrame, PathKey } from "../../../src/explain/diff/path-keys.ts";

/** A call path: `parse a.c:12@10 < main a.c:40@30` is line 12 of a function that begins in line 10. */
function key(text: string): PathKey {
  const frames = text.split(" < ").map((frame): KeyFrame => {
    const [, name, file, line, start] = /^(\S+)(?: ([\w./]+):(\d+)(?:@(\d+))?)?$/.exec(frame)!;
    return {
      name: name!,
      file,
      line: Number(line ?? 0),
      startLine: Number(start ?? 0),
      offset: text.length,
    };
  });
  return { frames, withPlaces: true };
}

/** Matching rows of the two runs: indices, `–` for none. */
function pairs(old: readonly string[], now: readonly string[]): string[] {
  return pairRows([old.map(key)], [now.map(key)]).map(
    (pair) => `${pair.old[0] ?? "–"} ${pair.new[0] ?? "–"}`,
  );
}

describe("places of two builds", () => {
  it("are paired if a function moved as a whole", () => {
    expect(pairs(["parse a.c:12@10", "load a.c:32@30"], ["load a.c:4@2", "parse a.c:54@52"])).toEqual([
      "0 1",
      "1 0",
    ]);
  });

  it("are paired if the file was renamed, or the function moved to another file", () => {
    expect(pairs(["parse old.c:12@10"], ["parse src/new.c:12@10"])).toEqual(["0 0"]);
    expect(pairs(["parse a.c:12@10", "load a.c:3@1"], ["load b.c:9@7", "parse a.c:12@10"])).toEqual([
      "0 1",
      "1 0",
    ]);
  });

  it("are paired in a function that moved to another file with the functions inlined into it", () => {
    expect(
      pairs(
        ["table a.c:12@10", "table array.h:3", "load a.c:3@1", "save a.c:53@51"],
        ["table b.c:2", "table array.h:3", "load a.c:3@1", "save a.c:43@41"],
      ),
    ).toEqual(["0 0", "1 1", "2 2", "3 3"]);
  });

  it("are paired by their distance from the function's start if a location was inserted", () => {
    expect(pairs(["parse a.c:12@10"], ["parse a.c:111@110", "parse a.c:112@110"])).toEqual(["0 1", "– 0"]);
  });

  it("are paired by line if one build has no starts of functions", () => {
    expect(pairs(["parse a.c:12", "parse a.c:15"], ["parse a.c:112@100", "parse a.c:115@100"])).toEqual([
      "0 0",
      "1 1",
    ]);
  });

  it("are paired by their order in the code if one build has no lines", () => {
    const frame = (name: string, offset: number, line?: number): PathKey => ({
      frames: [{ name, offset, ...(line === undefined ? {} : { file: "a.ts", line }) }],
      withPlaces: true,
    });
    const old = [frame("parse", 0x10), frame("parse", 0x30), frame("load", 0x90)];
    const now = [frame("parse", 0x130, 9), frame("parse", 0x110, 4), frame("load", 0x190, 20)];
    expect(pairRows([old], [now])).toEqual([
      { old: [0], new: [1] },
      { old: [1], new: [0] },
      { old: [2], new: [2] },
    ]);
  });

  it("of functions with one name are paired by file, even if files were renamed", () => {
    const old = ["init a.c:2@1", "init b.c:2@1", "parse a.c:9@8", "load b.c:9@8"];
    expect(pairs(old, ["init b.c:2@1", "init a.c:2@1", "parse a.c:9@8", "load b.c:9@8"])).toEqual([
      "0 1",
      "1 0",
      "2 2",
      "3 3",
    ]);
    expect(pairs(old, ["init y.c:2@1", "init x.c:2@1", "parse x.c:9@8", "load y.c:9@8"])).toEqual([
      "0 1",
      "1 0",
      "2 2",
      "3 3",
    ]);
    expect(
      pairs(["init /one/a.c:2@1", "init /one/b.c:2@1"], ["init /two/b.c:2@1", "init /two/a.c:2@1"]),
    ).toEqual(["0 1", "1 0"]);
  });

  it("of whole call paths are paired if every frame is", () => {
    const old = [
      "grow a.c:5@1 < parse a.c:12@10 < main a.c:40@30",
      "grow a.c:5@1 < load a.c:22@20 < main a.c:41@30",
    ];
    const now = [
      "grow a.c:9@5 < load a.c:2@0 < main a.c:71@60",
      "grow a.c:9@5 < parse b.c:12@10 < main a.c:70@60",
    ];
    expect(pairs(old, now)).toEqual(["0 1", "1 0"]);
  });

  it("ignore numbers and hashes that compilers give names in each build", () => {
    expect(pairs(["parse.llvm.123 a.c:2"], ["parse.llvm.987 a.c:2"])).toEqual(["0 0"]);
    expect(pairs(["app::run::h0123456789abcdef a.rs:2"], ["app::run::hfedcba9876543210 a.rs:2"])).toEqual([
      "0 0",
    ]);
  });

  it("are paired once for all runs of a side", () => {
    const [first, second] = [[key("parse a.c:2@1")], [key("load a.c:9@8"), key("parse a.c:2@1")]];
    expect(pairRows([first, second], [[key("parse a.c:12@11")]])).toEqual([
      { old: [0, 1], new: [0] },
      { old: [undefined, 0], new: [undefined] },
    ]);
  });
});
