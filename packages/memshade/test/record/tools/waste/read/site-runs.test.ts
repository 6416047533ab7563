import { describe, expect, it } from "vitest";
import type { WasteContents } from "../../../../../src/record/tools/waste/read/read-waste.ts";
import { siteRunsOf } from "../../../../../src/record/tools/waste/read/site-runs.ts";

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
    expect(found).toEqual({ offsets: [30, 90, 200], runs: [4, 8, 9] });
  });
});
