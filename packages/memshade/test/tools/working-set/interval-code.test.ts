import { expect, it } from "vitest";
import { Insert } from "../../../src/tools/working-set/pass/interval-code.ts";
import { FIRST_BESIDE } from "../../../src/tools/working-set/pass/marks/beside-marks.ts";

it("each kind of insertion has a number of its own, below those of what other passes put beside", () => {
  const numbers = Object.values(Insert);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(Math.max(...numbers)).toBeLessThan(FIRST_BESIDE);
});
