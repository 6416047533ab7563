import { expect } from "vitest";
import { displayWidth } from "../../src/show/report/terminal/common/text.ts";

/** Every layout has room for names of so many columns. */
const USUAL_NAME = 12;

/**
 * Expects a line of at most `columns` columns. Names are never cut, so a line may be longer by what its wide words have more than names
 * that every layout has room for.
 */
export function expectFits(line: string, columns = 80): void {
  const more = line.split(/[\s…]/).map((word) => Math.max(0, displayWidth(word) - USUAL_NAME));
  const sum = more.reduce((total, width) => total + width, 0);
  expect(displayWidth(line), line).toBeLessThanOrEqual(columns + sum);
}
