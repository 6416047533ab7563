import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { markWaste } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { type SourceTable, sourceLines } from "../../../src/explain/source/source-table.ts";
import { createPaint } from "../../../src/show/report/terminal/common/paint.ts";
import { sourceReport } from "../../../src/show/report/terminal/common/source-report.ts";
import { displayWidth } from "../../../src/show/report/terminal/common/text.ts";
import { someObjects } from "../../objects-picture.ts";
import { pictureOf } from "../../show/report/working-set-picture.ts";
import { load, store, wasteOf } from "../analyses/waste/waste-picture.ts";

const rows = ({ columns, lines }: SourceTable, ...keys: string[]) =>
  lines.map(({ file, line, values }) => [
    `${file}:${line}`,
    ...keys.map((key) => values[columns.findIndex((column) => column.key === key)]),
  ]);

describe("source lines of waste", () => {
  it("begin with the one that has most of one kind, and add up the places of a line", () => {
    const table = sourceLines("waste", {
      waste: wasteOf({
        stores: [
          store("parse", 3, { bytes_written: 100, dead_overwritten: 10, nof_stores: 9 }),
          store("fill", 7, { bytes_written: 900, dead_overwritten: 60, nof_stores: 9 }),
          store("fill", 7, { bytes_written: 100, dead_overwritten: 30, nof_stores: 9, nof_silent: 2 }),
          store("quiet", 9, { bytes_written: 5000, nof_stores: 9 }),
        ],
        loads: [load("parse", 3, { nof_loads: 40, nof_silent: 30 })],
      }),
    });
    expect(rows(table, "dead", "silent", "redundant")).toEqual([
      ["src/parse.c:3", 10, 0, 30],
      ["src/fill.c:7", 90, 2, 0],
    ]);
  });

  it("are the program's own, where a library did it and calling contexts are known", () => {
    const file = wasteOf({
      stores: [store("f", 4, { dead_overwritten: 8, bytes_written: 8, nof_stores: 1 })],
    });
    file.stores[0]!.ips.unshift({
      address: 1,
      function: "std::__2::vector<int>::push_back(int&&)",
      file: "/usr/include/c++/v1/vector",
      line: 99,
    });
    markWaste(file, new FrameRules());
    expect(rows(sourceLines("waste", { waste: file }), "dead")).toEqual([["src/f.c:4", 8]]);
  });
});

describe("source lines of the working set", () => {
  it("are those that intervals ended in: the largest of them, and the lines of memory that were new", () => {
    const profile = pictureOf(["abc", "ad", "a"], ["parse", "parse", "print"]);
    for (const stack of profile.instances[0]!.stacks)
      Object.assign(stack[0]!, { file: `${stack[0]!.name}.c`, line: 5 });
    expect(rows(sourceLines("workingset", { workingset: profile }), "new", "workingset")).toEqual([
      ["parse.c:5", 256, 192],
      ["print.c:5", 0, 64],
    ]);
  });
});

describe("the source text beside figures", () => {
  const table: SourceTable = {
    tool: "workingset",
    columns: ["misses", "first", "share", "new", "lines"].map((key) => ({ key, head: key, unit: "count" })),
    lines: [{ file: "a.c", line: 2, values: [1, 2, 3, 4, 0] }],
  };
  const text = (width: number, isWide = false) =>
    sourceReport(table, () => ["one", `int long_line = ${"x + ".repeat(40)}漢字漢字;`], {
      paint: createPaint(false),
      width,
      isWide,
    });

  it("is as wide as the terminal at most, and columns make room for it", () => {
    for (const width of [40, 60, 80, 99, 200])
      for (const line of text(width).split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    expect(text(80)).toMatch(/^ +misses +first +share +new$/m);
    expect(text(60)).not.toContain("share");
    expect(text(60, true)).toContain("漢字漢字;");
  });

  it("has no column without a value", () => {
    expect(text(200)).not.toContain("lines\n");
  });
});

describe("the source lines that make objects", () => {
  it("have bytes, objects and what is in use", () => {
    const { columns, lines } = sourceLines("objects", { objects: someObjects() });
    expect(columns.map(({ key }) => key)).toEqual(["object-bytes", "objects", "objects-in-use"]);
    expect(lines).toEqual([{ file: "src/tree.kt", line: 7, values: [16_000, 1000, 8000] }]);
  });
});
