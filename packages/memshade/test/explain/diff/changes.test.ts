import { describe, expect, it } from "vitest";
import {
  changeOf,
  isTotalWithinSpread,
  isWithinSpread,
  median,
  rankChanges,
} from "../../../src/explain/diff/changes.ts";

const runs = (...values: number[]) => ({
  rows: values.map((value) => Float64Array.of(value, 1)),
  totals: values,
});

describe("a figure of several runs", () => {
  it("is the one in the middle, or the mean of the two there", () => {
    expect(median([9])).toBe(9);
    expect(median([30, 10, 20])).toBe(20);
    expect(median([10, 40, 20, 30])).toBe(25);
  });

  it("of one run each has no spread, so that every difference counts", () => {
    const change = changeOf("bytes", runs(10), runs(11));
    expect(change).not.toHaveProperty("spread");
    expect(rankChanges(change)).toEqual([0]);
    expect(isWithinSpread(change, 0)).toBe(false);
    expect(isTotalWithinSpread(change)).toBe(false);
  });

  it("is within the spread where runs of both sides have such values", () => {
    for (const [old, now, isWithin] of [
      [[10, 20, 30], [25, 40, 50], true],
      [[10, 20, 30], [30, 40, 50], true],
      [[10, 20, 30], [31, 40, 50], false],
      [[10, 20, 30], [25], true],
      [[10], [10, 12], true],
      [[10, 10], [11, 11], false],
      [[31, 40], [10, 30], false],
    ] as const) {
      const change = changeOf("bytes", runs(...old), runs(...now));
      expect(isWithinSpread(change, 0), `${old} ${now}`).toBe(isWithin);
      expect(isTotalWithinSpread(change)).toBe(isWithin);
    }
  });
});
