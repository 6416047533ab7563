import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SiteRuns } from "../../../../src/tools/index.ts";
import type { WasteContents } from "../../../../src/tools/waste/read/read-waste.ts";
import {
  addedRuns,
  readSiteRuns,
  siteRunsOf,
  siteRunsText,
} from "../../../../src/tools/waste/read/site-runs.ts";

const siteRuns: fc.Arbitrary<SiteRuns> = fc
  .uniqueArray(fc.record({ offset: fc.nat(), runs: fc.nat(2 ** 31), events: fc.nat() }), {
    selector: ({ offset }) => offset,
  })
  .map((sites) => sites.sort((a, b) => a.offset - b.offset))
  .map((sites) => ({
    offsets: sites.map(({ offset }) => offset),
    runs: sites.map(({ runs }) => runs),
    events: sites.map(({ events }) => events),
  }));

const SOME: SiteRuns = { offsets: [40, 300], runs: [8, 3], events: [0, 2] };

describe("how often the places of a module ran", () => {
  it("is the sum over contexts and instances, each place once and in the order of the code", () => {
    const contents = (stores: unknown[], loads: unknown[]) => ({ stores, loads }) as unknown as WasteContents;
    const found = siteRunsOf([
      contents(
        [
          { path: [90, 7], stores: 5, silent: 1 },
          { path: [90, 8], stores: 2, silent: 2 },
        ],
        [{ path: [30], loads: 4, silent: 4 }],
      ),
      contents(
        [{ path: [90, 7], stores: 1, silent: 0 }],
        [
          { path: [200], loads: 9, silent: 3 },
          { path: [210], loads: 0, silent: 0 },
        ],
      ),
    ]);
    expect(found).toEqual({ offsets: [30, 90, 200], runs: [4, 8, 9], events: [0, 3, 6] });
  });

  it("comes back from its text", () => {
    fc.assert(
      fc.property(siteRuns, (runs) => {
        expect(readSiteRuns(siteRunsText(runs))).toEqual(runs);
      }),
    );
  });

  it("is not known from a text that was cut, damaged or is of another format", () => {
    const whole = siteRunsText(SOME);
    expect(whole).toBe("memshade site runs 1\n40 8 0\n260 3 2\n");
    for (let length = 0; length < whole.length; length++)
      expect(readSiteRuns(whole.slice(0, length)) ?? "a part").not.toEqual(SOME);
    for (const text of [
      whole.slice(0, -3),
      whole.replace("8", "x"),
      whole.replace("8", "-8"),
      whole.replace("8 0", "8"),
      whole.replace("runs 1", "runs 2"),
    ])
      expect(readSiteRuns(text)).toBeUndefined();
  });

  it("fades from run to run, until it is forgotten", () => {
    const now = { offsets: [300, 500], runs: [10, 1], events: [4, 0] };
    expect(addedRuns(now, undefined)).toEqual(now);
    const both = addedRuns(now, SOME);
    expect(both).toEqual({ offsets: [40, 300, 500], runs: [4, 12, 1], events: [0, 5, 0] });
    const none = { offsets: [], runs: [], events: [] };
    let left = both;
    for (let run = 0; run < 60; run++) left = addedRuns(none, left);
    expect(left.runs.every((runs) => runs <= 1)).toBe(true);
  });
});
