import { describe, expect, it } from "vitest";
import { withoutUnused } from "../../../src/record/tools/unused-tables.ts";

describe("a memory without its unused parts", () => {
  it("is all of it where nothing is unused", () => {
    expect(withoutUnused(64, [])).toEqual([[0, 64]]);
  });

  it("has what is not named, in order and once, whatever overlaps", () => {
    expect(
      withoutUnused(64, [
        [40, 48],
        [8, 24],
        [16, 32],
        [20, 22],
      ]),
    ).toEqual([
      [0, 8],
      [32, 40],
      [48, 64],
    ]);
  });

  it("has whole units: one that is used in part is used", () => {
    expect(withoutUnused(64, [[3, 29]])).toEqual([
      [0, 8],
      [24, 64],
    ]);
    expect(withoutUnused(64, [[48, 1000]])).toEqual([[0, 48]]);
  });
});
