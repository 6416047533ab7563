import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { powersOf } from "../../src/store/rows.ts";

describe("blocks by powers of two", () => {
  it("are in the last number, where all are of one power", () => {
    expect(powersOf(5, 24, 31)).toEqual([0, 0, 0, 0, 0, 5]);
    expect(powersOf(3, 0, 0)).toEqual([3]);
    expect(powersOf(2, 2 ** 32 - 1, 2 ** 31)).toHaveLength(33);
  });

  it("are not known where the smallest and the largest are of different ones, and none where there are none", () => {
    expect(powersOf(5, 31, 32)).toEqual([]);
    expect(powersOf(0, 0, 0)).toEqual([]);
  });

  it("are as many as there are, at a power that has the value", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 32 - 1 }),
        fc.integer({ min: 1, max: 1000 }),
        (value, blocks) => {
          const list = powersOf(blocks, value, value);
          expect(list.at(-1)).toBe(blocks);
          expect(value).toBeGreaterThanOrEqual(2 ** (list.length - 2));
          expect(value).toBeLessThan(2 ** (list.length - 1));
        },
      ),
    );
  });
});
