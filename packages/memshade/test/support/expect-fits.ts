import { expect } from "vitest";
import { displayWidth } from "../../src/show/report/terminal/common/text.ts";

/** Width of names, in columns, that every layout has room for. */
const USUAL_NAME = 12;

/**
 * Expects a line of at most `columns` columns. Names are never cut, so a line may be longer by the excess of its wide words over
 * names that every layout has room for.
 */
export function expectFits(line: string, columns = 80): void {
  const more = line.split(/[\s…]/).map((word) => Math.max(0, displayWidth(word) - USUAL_NAME));
  const sum = more.reduce((total, width) => total + width, 0);
  expect(displayWidth(line), line).toBeLessThanOrEqual(columns + sum);
}
