import { describe, expect, it } from "vitest";
import { limitOfPair, parseLimit } from "../../../src/explain/limits/limit.ts";
import { LIMIT_MEASURES, limitMeasure } from "../../../src/explain/limits/limit-measures.ts";
import { UserError } from "../../../src/ground/bytes/errors.ts";

describe("a limit", () => {
  it("has a measure, a relation and an amount in units", () => {
    expect(parseLimit("peak<8MiB")).toMatchObject({
      measure: "peak",
      relation: "<",
      amount: { value: 8 * 2 ** 20, isPercent: false },
      from: undefined,
    });
    expect(parseLimit(" left == 0 ")).toMatchObject({
      text: "left == 0",
      relation: "=",
      amount: { value: 0 },
    });
    expect(parseLimit("blocks<=1.5 k").amount).toEqual({ value: 1500, isPercent: false });
    expect(parseLimit("dead<5%").amount).toEqual({ value: 5, isPercent: true });
  });

  it("counts from a baseline with a sign in front", () => {
    expect(parseLimit("peak<+5%")).toMatchObject({ from: "above", amount: { value: 5, isPercent: true } });
    expect(parseLimit("left<=-1KiB")).toMatchObject({ from: "below", amount: { value: 1024 } });
  });

  it("chooses places in brackets", () => {
    expect(parseLimit("left[file=src/tile.cpp, function=parse*]=0").filters).toEqual([
      { key: "file", glob: "src/tile.cpp" },
      { key: "function", glob: "parse*" },
    ]);
  });

  it("is at most the amount of a pair, unless that says something else", () => {
    expect(limitOfPair("peak", "8 MiB")).toMatchObject({ relation: "<=", amount: { value: 8 * 2 ** 20 } });
    expect(limitOfPair("left[file=a.c]", 0).text).toBe("left[file=a.c]<=0");
    expect(limitOfPair("blocks", ">=1")).toMatchObject({ relation: ">=", amount: { value: 1 } });
    expect(limitOfPair("peak", "+5%")).toMatchObject({ relation: "<=", from: "above" });
  });

  it.each([
    "",
    "peak",
    "peak<",
    "peak<8 bananas",
    "peak<8MiBs",
    "peak<1e3",
    "peak<--5",
    "peak!=5",
    "peak<5%%",
    "left[]=0",
    "left[file]=0",
    "left[file=]=0",
    "left[folder=x]=0",
    "left[file=a=0",
  ])("is refused in one line where it is none: %s", (text) => {
    let message = "";
    try {
      parseLimit(text);
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      ({ message } = error as UserError);
    }
    expect(message).toMatch(/^"[^\n]+$/);
  });
});

describe("measures", () => {
  it("have a word each, and parts are parts of others", () => {
    const words = LIMIT_MEASURES.flatMap(({ id, also }) => [id, ...also]);
    expect(new Set(words).size).toBe(words.length);
    for (const { partOf } of LIMIT_MEASURES) if (partOf !== undefined) expect(words).toContain(partOf);
    expect(limitMeasure("live").id).toBe("left");
    expect(() => limitMeasure("toString")).toThrow(/^"toString" is no measure/);
    expect(() => limitMeasure("zzz")).toThrow(/^"zzz" is no measure; memshade check --list has all of them$/);
    expect(() => limitMeasure("peek")).toThrow(
      /^"peek" is no measure; most like it is peak; memshade check --list /,
    );
  });
});
