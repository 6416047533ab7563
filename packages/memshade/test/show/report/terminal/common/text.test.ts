import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPaint, wantsColors } from "../../../../../src/show/report/terminal/common/paint.ts";
import {
  bar,
  cutMiddle,
  cutStart,
  displayWidth,
  firstWords,
  padLeft,
  printable,
  wrapWords,
} from "../../../../../src/show/report/terminal/common/text.ts";

describe("text on a terminal", () => {
  it("is as wide as its characters: East Asian ones take two columns, combining ones none", () => {
    expect(["abc", "文字", "e\u0301", "█▏", "🦀"].map(displayWidth)).toEqual([3, 4, 1, 2, 2]);
    expect(padLeft("文", 4)).toBe("  文");
  });

  it("is cut in the middle", () => {
    expect(cutMiddle("sqlite3VdbeExec", 9)).toBe("sqli…Exec");
    expect(cutMiddle("文字文字", 5)).toBe("文…字");
    expect(cutMiddle("short", 5)).toBe("short");
  });

  it("keeps the line of a location that is cut", () => {
    expect(cutStart(" (parse.c:88)", 13)).toBe(" (parse.c:88)");
    expect(cutStart(" (parse.c:88)", 9)).toBe(" (….c:88)");
    expect(cutStart("folder/parse.c:88", 11)).toBe("…parse.c:88");
    expect(cutStart(" (parse.c:88)", 2)).toBe("");
  });

  it("loses whole words if it is too long for names", () => {
    const words = [" ← parse", " ← load", " ← main"];
    expect(firstWords(words, " ← …", 22)).toBe(" ← parse ← load ← main");
    expect(firstWords(words, " ← …", 21)).toBe(" ← parse ← load ← …");
    expect(firstWords(words, " ← …", 3)).toBe("");
  });

  it("is wrapped at words, too long words are cut", () => {
    expect(wrapWords("one two three abcdefghijk four", 9)).toEqual(["one two", "three", "abcd…hijk", "four"]);
    expect(wrapWords("  ", 9)).toEqual([]);
  });

  it("that is to be typed stays whole, with the spaces inside quotes", () => {
    const quoted = "'malloc=<a::Pool as b::Heap>::get:1,free=<a::Pool as b::Heap>::put'";
    expect(wrapWords(`name who does: --allocator ${quoted}. Or not`, 20)).toEqual([
      "name who does:",
      "--allocator",
      `${quoted}.`,
      "Or not",
    ]);
    expect(wrapWords("--allocator malloc=zend_emalloc,free=zend_efree.", 20)[1]).toBe(
      "malloc=zend_emalloc,free=zend_efree.",
    );
    expect(wrapWords("the program's own heap, the host's", 20)).toEqual([
      "the program's own",
      "heap, the host's",
    ]);
  });

  it("never exceeds the width it was cut or wrapped to", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 30 }), (text, width) => {
        expect(displayWidth(cutMiddle(text, width))).toBeLessThanOrEqual(width);
        for (const line of wrapWords(text.replace(/['=]/g, "-"), width))
          expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("from a profile cannot move the cursor or turn the direction", () => {
    expect(printable("a\u001b[2Jb\nc\u202ed")).toBe("a\ufffd[2Jb\ufffdc\ufffdd");
  });

  it("bars count in eighths of a column and show the smallest part", () => {
    expect([0, 1, 31, 32, 33, 64, 100].map((part) => bar(part, 64, 8))).toEqual([
      "",
      "▏",
      "███▉",
      "████",
      "████▏",
      "████████",
      "████████",
    ]);
    expect(bar(1, 1_000_000, 8)).toBe("▏");
  });
});

describe("colours", () => {
  it("are for terminals, unless the environment or the user says otherwise", () => {
    expect(wantsColors("auto", true, {})).toBe(true);
    expect(wantsColors("auto", false, {})).toBe(false);
    expect(wantsColors("auto", true, { NO_COLOR: "1" })).toBe(false);
    expect(wantsColors("auto", true, { NO_COLOR: "" })).toBe(true);
    expect(wantsColors("auto", true, { TERM: "dumb" })).toBe(false);
    expect(wantsColors("always", false, { NO_COLOR: "1" })).toBe(true);
    expect(wantsColors("never", true, {})).toBe(false);
  });

  it("enclose the text and leave nothing open", () => {
    expect(createPaint(true).amount("5 B")).toBe("\u001b[32m5 B\u001b[39m");
    expect(createPaint(true).faint("")).toBe("");
    expect(createPaint(false).heading("Peak")).toBe("Peak");
  });
});
