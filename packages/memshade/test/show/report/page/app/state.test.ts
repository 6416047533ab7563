import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FIRST_STATE,
  GROUPS,
  type PageState,
  readState,
  TABS,
  writeState,
} from "../../../../../src/show/report/page/app/state.ts";

const index = fc.nat({ max: 999_999_999 });
const word = fc.string({ minLength: 1, unit: "grapheme" });
const state: fc.Arbitrary<PageState> = fc.record(
  {
    tab: fc.constantFrom(...TABS),
    range: fc
      .record({ tool: fc.constantFrom("heap", "workingset"), from: fc.nat(1000) })
      .map(({ tool, from }) => ({
        tool: tool as "heap" | "workingset",
        from,
        to: from + 7,
      })),
    site: index,
    frame: index,
    frameOf: fc.constantFrom("site", "line", "function", "file", "package"),
    box: fc.record({
      from: fc.constantFrom("root", "site", "callers", "callees"),
      by: fc.constantFrom("line", "function", "file", "package"),
      path: fc.array(index, { minLength: 1 }),
    }),
    alone: fc.constant(true),
    finding: index,
    open: fc.array(index),
    weight: word,
    group: fc.constantFrom(...GROUPS),
    sort: word,
    ascending: fc.boolean(),
    filter: fc.string({ unit: "grapheme" }),
    hidden: fc.uniqueArray(fc.constantFrom("leak", "never-read", "dead")),
    folded: fc.boolean(),
    instructions: fc.boolean(),
    side: fc.constantFrom("difference", "before", "after"),
    graph: fc.record({ layout: fc.constant("flame"), zoom: fc.array(index) }),
  },
  {
    requiredKeys: [
      "tab",
      "frameOf",
      "group",
      "ascending",
      "filter",
      "hidden",
      "folded",
      "instructions",
      "side",
    ],
  },
);

describe("the state in the address", () => {
  it("comes back as it was written", () => {
    fc.assert(
      fc.property(state, (written) => {
        expect(readState(`#${writeState(written)}`)).toEqual(written);
      }),
    );
  });

  it("is empty at first, and what is empty is the first state", () => {
    expect(writeState(FIRST_STATE)).toBe("");
    expect(readState("")).toEqual(FIRST_STATE);
  });

  it("is never more than it can be, whatever somebody wrote there", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const hash of [
          text,

          `tab=${text}&range=${text}&site=${text}&graph=${text}&open=${text}`,
        ]) {
          const { tab, range, site = 0, open = [] } = readState(hash);
          expect(TABS).toContain(tab);
          expect(range === undefined || range.from < range.to).toBe(true);
          for (const number of [site, ...open]) expect(Number.isSafeInteger(number)).toBe(true);
        }
      }),
    );
    expect(readState("#tab=nothing&range=heap-9-3&site=-1&frame=1e3&group=x&side=y&graph={")).toEqual(
      FIRST_STATE,
    );
    expect(readState("#range=__proto__-1-3&tab=__proto__")).toEqual(FIRST_STATE);
  });
});
