import { expect, it } from "vitest";
import { csvCell } from "../../../../src/show/report/json/csv.ts";

it("a cell of a CSV table has no control characters, and is no formula", () => {
  expect(csvCell("_start < a\0b\u001b[2J\n")).toBe("_start < a\ufffdb\ufffd[2J\ufffd");
  expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
  expect(csvCell('say "a, b"')).toBe('"say ""a, b"""');
  expect(csvCell("main")).toBe("main");
});
