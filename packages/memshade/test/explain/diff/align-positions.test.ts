import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alignPositions } from "../../../src/explain/diff/pair-rows.ts";
import type { Position } from "../../../src/explain/diff/path-keys.ts";

/** Positions by their lines: `3 7:9 8+40 9=put` are line 3, line 7 in column 9, line 8 at code offset 40, and line 9, which calls put. */
const places = (text: string): Position[] =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => {
      const [, line, column = 0, code, sign] = /^(\d+)(?::(\d+))?(?:\+(\d+))?(?:=(\w+))?$/.exec(word)!;
      return {
        kind: "line",
        line: Number(line),
        column: Number(column),
        code: code === undefined ? undefined : Number(code),
        signs: sign === undefined ? undefined : new Set([sign]),
      };
    });

/** `3→5`, and `7→` for a removed line. */
function aligned(old: string, now: string): string {
  const [before, after] = [places(old), places(now)];
  const text = ({ line, column }: Position) => (column === 0 ? `${line}` : `${line}:${column}`);
  return alignPositions(before, after)
    .map((match, index) => `${text(before[index]!)}→${match === undefined ? "" : text(after[match]!)}`)
    .join(" ");
}

describe("places in a function of two builds", () => {
  it("that did not move are the same", () => {
    expect(aligned("3 7 9", "3 7 9")).toBe("3→3 7→7 9→9");
  });

  it("move together where lines came in above", () => {
    expect(aligned("3 7", "7 11")).toBe("3→7 7→11");
    expect(aligned("3 7 12", "3 9 14")).toBe("3→3 7→9 12→14");
  });

  it("stand around one that is new, or is gone", () => {
    expect(aligned("3 7 12", "3 5 9 14")).toBe("3→3 7→9 12→14");
    expect(aligned("3 5 9 14", "3 7 12")).toBe("3→3 5→ 9→7 14→12");
    expect(aligned("12", "12 14")).toBe("12→12");
  });

  it("are told by their columns where the distance does not say", () => {
    expect(aligned("5:20", "5:9 7:20")).toBe("5:20→7:20");
    expect(aligned("5:9 5:20", "5:9 5:14 5:20")).toBe("5:9→5:9 5:20→5:20");
  });

  it("are told by how much code is between them where lines do not say", () => {
    expect(aligned("6 7 8", "6 7 8 9")).toBe("6→6 7→7 8→8");
    expect(aligned("6+55 7+66 8+85 11+110", "6+55 7+69 8+80 9+99 12+124")).toBe("6→6 7→8 8→9 11→12");
  });

  it("are told by what goes on there where nothing else says", () => {
    expect(aligned("3=put", "3=get 4=put")).toBe("3→3");
    expect(aligned("3 7=put 9=end", "3 7=get 8=put 10=end")).toBe("3→3 7→8 9→10");
  });

  it("are the same in another column, as after indenting", () => {
    expect(aligned("5:9 6:9", "6:13 7:13")).toBe("5:9→6:13 6:9→7:13");
  });

  it("keep their order, are each matched once, and as many as there can be", () => {
    const lines = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 12 });
    const sorted = lines.map((all) => all.sort((a, b) => a - b).join(" "));
    fc.assert(
      fc.property(sorted, sorted, (old, now) => {
        const [before, after] = [places(old), places(now)];
        const matches = alignPositions(before, after).filter((match) => match !== undefined);
        expect(matches).toEqual([...new Set(matches)].sort((a, b) => a - b));
        expect(matches).toHaveLength(Math.min(before.length, after.length));
      }),
    );
  });

  it("are found again however far all of them moved", () => {
    const lines = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.integer({ min: -1000, max: 1000 }), (all, by) => {
        const before = all
          .sort((a, b) => a - b)
          .map((line): Position => ({ kind: "line", line, column: line % 5 }));
        const after = before.map((one) => ({ ...one, line: one.line + by }));
        expect(alignPositions(before, after)).toEqual([...before.keys()]);
      }),
    );
  });
});
