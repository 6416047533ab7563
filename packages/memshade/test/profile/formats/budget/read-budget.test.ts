import { describe, expect, it } from "vitest";
import { UserError } from "../../../../src/ground/bytes/errors.ts";
import { readBudget } from "../../../../src/profile/formats/budget/read-budget.ts";

const BUDGET = `# What a tile may take.
baseline: ../main
limits:
  - peak < 8 MiB
  - limit: left[file=src/tile.cpp] = 0
    reason: a tile is given back
suppressions:
  - leak: tile_cache
    reason: one table for the life of the process
  - from: leaks.supp
  - function: memset*
    measures: [dead, silent]
    reason: cleared for safety
`;

describe("a budget file", () => {
  it("has limits and suppressions with their lines", () => {
    expect(readBudget(BUDGET, "b.yaml")).toEqual({
      baseline: "../main",
      limits: [
        { limit: "peak < 8 MiB", place: "b.yaml:4" },
        { limit: "left[file=src/tile.cpp] = 0", reason: "a tile is given back", place: "b.yaml:5" },
      ],
      suppressions: [
        { leak: "tile_cache", reason: "one table for the life of the process", place: "b.yaml:8" },
        { from: "leaks.supp", place: "b.yaml:10" },
        {
          places: { function: "memset*" },
          measures: ["dead", "silent"],
          reason: "cleared for safety",
          place: "b.yaml:11",
        },
      ],
    });
  });

  it("may be JSON, with limits as pairs", () => {
    const { limits } = readBudget('{ "limits": { "peak": "8 MiB", "left": 0 } }', "b.json");
    expect(limits.map(({ limit }) => limit)).toEqual([
      ["peak", "8 MiB"],
      ["left", 0],
    ]);
  });

  it.each([
    ["", /^b:1: a budget has/],
    ["limits: []", /^b:1: there are no limits/],
    ["limits:\n  peak", /^b:2: limits should be a list/],
    ["limits: [5]", /^b:1: a limit should be text/],
    ["limits:\n - peak<1\nlimit: 5", /^b:3: "limit" is none of limits, baseline, suppressions/],
    ["limits:\n - reason: why", /^b:2: a limit is missing/],
    ["limits:\n  peak: [1]", /^b:2: peak should have an amount/],
    ["limits:\n - peak<1\nsuppressions:\n - leak: x", /^b:4: a suppression needs its reason/],
    ["limits:\n - peak<1\nsuppressions:\n - reason: x", /^b:4: a suppression has one of/],
    ["limits:\n - peak<1\nsuppressions:\n - {leak: x, file: y, reason: z}", /^b:4: a suppression has one of/],
    ["limits:\n - peak<1\nsuppressions:\n - {leak: x, measures: left, reason: z}", /^b:4: measures go with/],
    ["limits:\n - peak<1\nsuppressions: none", /^b:3: suppressions should be a list/],
    ["limits: [", /^b:\d: /],
    ["limits:\n - a\nlimits:\n - b", /^b:3: Map keys must be unique/],
    ["- peak<1", /^b:1: a budget has/],
  ])("is refused with its line: %j", (text, message) => {
    const read = () => readBudget(text, "b");
    expect(read).toThrow(UserError);
    expect(read).toThrow(message);
  });
});
