import { describe, expect, it } from "vitest";
import { lateIntervals } from "../../../../src/tools/working-set/native/read/describe-native.ts";

const MS = 1e6;

describe("intervals that end late", () => {
  it("are told with the longest of them", () => {
    const records = [
      { start: 0, end: 85.34 * MS, scale: 0 },
      { start: 85.34 * MS, end: 100 * MS, scale: 0 },
      { start: 100 * MS, end: 150 * MS, scale: 0 },
    ];
    expect(lateIntervals(records, 20 * MS).join()).toMatch(
      /^2 intervals of 3 took at least twice as long as asked, up to 85\.3 ms:/,
    );
  });

  it("are none where the tool itself has made intervals longer, or a look was a little late", () => {
    expect(lateIntervals([{ start: 0, end: 39 * MS, scale: 0 }], 20 * MS)).toEqual([]);
    expect(lateIntervals([{ start: 0, end: 81 * MS, scale: 2 }], 20 * MS)).toEqual([]);
  });
});
