import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callTree } from "../../../../src/explain/call-tree/call-tree.ts";
import { weightedStacks } from "../../../../src/explain/call-tree/weighted-stacks.ts";
import { stacksOf } from "../../../../src/explain/measures/index.ts";
import type { HeapProfile } from "../../../../src/profile/model/heap-profile.ts";
import { createPaint } from "../../../../src/show/report/terminal/common/paint.ts";
import { callTreeReport } from "../../../../src/show/report/terminal/tree.ts";
import { profileOfPicture } from "../../../heap-picture.ts";
import { expectFits } from "../../../support/expect-fits.ts";
import { heapProfile } from "../arbitrary.ts";

interface Wanted {
  depth?: number;
  least?: number;
  isInverted?: boolean;
  isWide?: boolean;
}

function textOf(profile: HeapProfile, { depth, least = 0, isInverted = false, isWide = false }: Wanted = {}) {
  const stacks = weightedStacks(stacksOf("heap", { heap: profile })!, { heap: profile });
  const options = { metric: 0, group: "function", isInverted } as const;
  return callTreeReport(callTree(stacks, options), {
    paint: createPaint(false),
    width: 80,
    isWide,
    input: "run",
    gaps: [],
    ...options,
    metric: stacks.metrics[0]!,
    depth,
    least,
  });
}

/** Text behind the three columns of numbers. */
const names = (text: string) =>
  text
    .split("\n")
    .filter((line) => /^ *[\d.]+ (B|KiB) /.test(line))
    .map((line) => line.slice(30));

const profile = profileOfPicture(`
  main > run > parse > grow     1 x 30
  main > run > parse            1 x 5
  main > run > load > grow      1 x 50
  other                         1 x 1
`);

describe("a printed call tree", () => {
  it("draws branches, and what is alone with all of its caller below that", () => {
    expect(names(textOf(profile))).toEqual([
      "main",
      "  run",
      "  ├ load",
      "  │ grow",
      "  └ parse",
      "    └ grow",
      "other",
    ]);
    expect(textOf(profile)).toContain("      85 B  98.8 %         ·  main");
    expect(textOf(profile)).toContain("      35 B  40.7 %       5 B    └ parse");
  });

  it("says what is below the last level, and how much is in what is too small to be shown", () => {
    expect(names(textOf(profile, { depth: 1 }))).toEqual(["main", "  run", "  └ … 2 calls below", "other"]);
    expect(names(textOf(profile, { least: 0.5 }))).toEqual([
      "main",
      "  run",
      "  ├ load",
      "  │ grow",
      "  └ … 1 smaller one: --min 0 shows it",
      "… 1 smaller one: --min 0 shows it",
    ]);
  });

  it("says in so many words that there is nothing", () => {
    expect(textOf(profileOfPicture(""))).toContain("Nothing was counted");
  });

  it("takes 80 columns but for longer names, and no control characters, whatever the names are and however deep they stand", () => {
    const deep = Array.from(
      { length: 60 },
      (_, depth) => `${Array.from({ length: depth + 1 }, (_, at) => `level${at}`).join(" > ")}  1 x 8`,
    ).join("\n");
    const deepest = textOf(profileOfPicture(deep));
    expect(deepest).toContain("level59");
    fc.assert(
      fc.property(heapProfile, fc.boolean(), (any, isInverted) => {
        for (const line of [...textOf(any, { isInverted }).split("\n"), ...deepest.split("\n")]) {
          expectFits(line);
          expect(line).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 30 },
    );
  });
});
