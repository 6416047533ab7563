import fc from "fast-check";
import { expect, test } from "vitest";
import { partitionPoint } from "../../../src/ground/bytes/columns.ts";

test("the place where a condition ceases to hold is the number of values that satisfy it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 30 })),
      fc.integer({ min: -1, max: 31 }),
      (values, limit) => {
        values.sort((a, b) => a - b);
        const below = values.filter((value) => value < limit).length;
        expect(partitionPoint(0, values.length, (index) => values[index]! < limit)).toBe(below);
      },
    ),
  );
});

test("only the asked range is looked at", () => {
  const asked: number[] = [];
  const found = partitionPoint(3, 7, (index) => {
    asked.push(index);
    return index < 5;
  });
  expect(found).toBe(5);
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(3);
  expect(Math.max(...asked)).toBeLessThan(7);
  expect(partitionPoint(4, 4, () => true)).toBe(4);
});
