import { describe, expect, it } from "vitest";
import { asMarkdown, asTsv } from "../../../../../src/show/report/page/app/model/table-text.ts";
import {
  amount,
  amountInWords,
  amountOf,
  difference,
} from "../../../../../src/show/report/page/app/parts/amounts.ts";
import { shown, shownLine } from "../../../../../src/show/report/page/app/parts/shown-text.ts";

describe("names as they are shown", () => {
  it("have what cannot be seen written out", () => {
    expect(shown("a\u202eb\u200bc\ufeffd\0e")).toBe("a‹U+202E›b‹U+200B›c‹U+FEFF›d‹U+0000›e");
    expect(shown("a\nb\tc\u2028d")).toBe("a‹U+000A›b‹U+0009›c‹U+2028›d");
    expect(shown("half \ud83d, whole 😀")).toBe("half ‹U+D83D›, whole 😀");
  });

  it("are cut where nobody would read on, and say how long they are", () => {
    expect(shown("x".repeat(4096))).toBe("x".repeat(4096));
    expect(shown("x".repeat(2 ** 20))).toBe(`${"x".repeat(4096)}… (1048576 characters)`);
  });

  it("keep the tabs of source lines as room", () => {
    expect(shownLine("\tif (a)\u202e")).toBe("    if (a)‹U+202E›");
  });
});

describe("tables as text", () => {
  const heads = ["function", "bytes"];

  it("are tabs and lines, and no cell is a formula", () => {
    const rows = [
      ["=1+1", 5],
      ["+a", -1],
      ["-b", 0],
      ["@c", 1.5],
      ["d\te\nf", 2],
    ];
    expect(asTsv(heads, rows)).toBe("function\tbytes\n'=1+1\t5\n'+a\t-1\n'-b\t0\n'@c\t1.5\nd e f\t2\n");
  });

  it("are Markdown in which names are text", () => {
    expect(asMarkdown(heads, [["a|b<T>_*`", 5]])).toBe(
      "| function | bytes |\n| --- | --: |\n| a\\|b\\<T\\>\\_\\*\\` | 5 |\n",
    );
  });
});

describe("amounts", () => {
  it("have the unit that they are of", () => {
    expect(amount(36_000, "bytes")).toBe("35.2 KiB");
    expect(amount(-36_000, "bytes")).toBe("−35.2 KiB");
    expect(amount(0.31, "part")).toBe("31.0 %");
    expect(amount(3002, "clock", "allocations")).toBe("3,002 allocs");
    expect(amount(1_500_000, "ns")).toBe("1.5 ms");
    expect(difference(5, "blocks")).toBe("+5");
  });

  it("say what is counted", () => {
    expect(amountInWords(1000, "blocks")).toBe("1,000 blocks");
    expect(amountInWords(1, "accesses")).toBe("1 access");
    expect(amountInWords(1, "blocks")).toBe("1 block");
    expect(amountInWords(36_000, "bytes")).toBe("35.2 KiB");
    expect(amountOf(36_000, { unit: "bytes", label: "bytes live at the end" })).toBe(
      "35.2 KiB live at the end",
    );
    expect(amountOf(12, { unit: "blocks", label: "blocks" })).toBe("12 blocks");
    expect(amountOf(1, { unit: "blocks", label: "temporary blocks" })).toBe("1 temporary block");
  });
});
