import { describe, expect, it } from "vitest";
import type { KeyFrame } from "../../../src/explain/diff/path-keys.ts";
import { displayedNames, renamedFunctions } from "../../../src/explain/diff/renamed-functions.ts";

/** A path, innermost first: `read a.c:12@10 < main a.c:40@30` is line 12 of a function that begins in line 10. */
function path(text: string): KeyFrame[] {
  return text.split(" < ").map((frame): KeyFrame => {
    const [, name, file, line, start] = /^(.+?)(?: ([\w./]+)(?::(\d+)(?:@(\d+))?)?)?$/.exec(frame)!;
    return { name: name!, file, line: Number(line ?? 0), startLine: Number(start ?? 0) };
  });
}

function renamed(old: readonly string[], now: readonly string[]): string[] {
  return Array.from(renamedFunctions(old.map(path), now.map(path)), ([one, other]) => `${one} → ${other}`);
}

describe("functions with another name in the newer build", () => {
  it("are told by their file and their lines", () => {
    expect(renamed(["take a.c:12@10", "give a.c:32@30"], ["accept a.c:15@13", "give a.c:35@33"])).toEqual([
      "take → accept",
    ]);
  });

  it("are told by their file and who calls them where lines came in", () => {
    expect(renamed(["take a.c:12@10 < main a.c:40@30"], ["accept a.c:19@10 < main a.c:47@37"])).toEqual([
      "take → accept",
    ]);
  });

  it("are told one by the other where a chain of them has new names", () => {
    expect(
      renamed(
        ["inner a.c:2@1 < middle a.c:12@10 < outer a.c:40@30 < main a.c:90@80"],
        ["core a.c:3@1 < between a.c:14@10 < around a.c:45@30 < main a.c:90@80"],
      ).sort(),
    ).toEqual(["inner → core", "middle → between", "outer → around"]);
  });

  it("are told by what stays of a name where a parameter or a namespace is added", () => {
    expect(renamed(["shop::take(int) a.cc:12@10"], ["shop::take(int, bool) a.cc:18@10"])).toEqual([
      "shop::take(int) → shop::take(int, bool)",
    ]);
    expect(renamed(["take(int) a.cc:12@10"], ["v2::take(int) a.cc:18@10"])).toEqual([
      "take(int) → v2::take(int)",
    ]);
  });

  it("are not guessed where two could be meant, or only the file is the same", () => {
    expect(renamed(["take a.c:12@10"], ["accept a.c:12@10", "refuse a.c:32@30"])).toEqual([]);
    expect(renamed(["take a.c:12@10", "give a.c:22@20"], ["accept a.c:12@10"])).toEqual([]);
    expect(renamed(["take a.c:12@10"], ["accept a.c:19@10"])).toEqual([]);
  });

  it("are none where both builds have all names, and none where nothing is known but names", () => {
    expect(renamed(["take a.c:12@10"], ["take b.c:12@10"])).toEqual([]);
    expect(renamed(["take < main"], ["accept < run"])).toEqual([]);
  });

  it("are told once, however often they are inlined", () => {
    const all = new Map([
      ["push", "prepend"],
      ["push in main", "prepend in main"],
      ["copy in push", "copy in prepend"],
    ]);
    expect([...displayedNames(all)]).toEqual([["push", "prepend"]]);
  });
});
