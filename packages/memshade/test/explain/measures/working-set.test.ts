import { describe, expect, it } from "vitest";
import { measure } from "../../../src/explain/measures/index.ts";
import { wholeOf } from "../../../src/explain/measures/ranking.ts";
import type { StackFrame, WorkingSetProfile } from "../../../src/profile/model/working-set/working-set.ts";
import { type Asked, ranked as rankedOf } from "../../support/ranked.ts";

const frame = (index: number, offset: number): StackFrame => ({ function: index, name: `f${index}`, offset });
const counts = (lines: number[]) => ({ lines });

/** Four intervals: two end in f1, called by f2 and by f3; one in f2; the context of one is unknown. */
const PROFILE = {
  program: "app",
  unit: "accesses",
  modules: [{ index: 0, name: "app.wasm" }],
  lineBytes: 64,
  instances: [
    {
      module: 0,
      levels: [{ factor: 1, counts: counts([4, 2, 6, 1]), fresh: [4, 0, 3, 1] }],
      stackOf: [0, 1, 2, -1],
      stacks: [[frame(1, 10), frame(2, 20)], [frame(1, 10), frame(3, 30)], [frame(2, 21)]],
      fill: { levels: [{ factor: 1, bytes: [256, 64, 96, 64] }], total: 400 },
      firstTouch: {
        contexts: [
          { kind: "code", stack: [frame(1, 10), frame(2, 20)], total: 4, mean: 2, peak: 4 },
          { kind: "code", stack: [frame(1, 11), frame(3, 30)], total: 3, mean: 1, peak: 3 },
          { kind: "host", stack: [], total: 1, mean: 0.25, peak: 1 },
        ],
      },
      locality: {
        rate: 0.5,
        cold: 3,
        sitesAtLines: 512,
        otherSites: { sites: 0, misses: 0 },
        sites: [
          { frame: frame(1, 10), references: 10, misses: 4, cold: 1 },
          { frame: frame(1, 11), references: 6, misses: 3, cold: 2 },
          { references: 2, misses: 1, cold: 0 },
        ],
      },
    },
  ],
} as unknown as WorkingSetProfile;

const ranked = (by: string, group: Asked["group"] = "site") =>
  rankedOf({ workingset: PROFILE }, { by, group })?.map(([place, amount]) => [place, amount / 64]);

describe("functions that intervals end in are ranked by", () => {
  it("their largest working set", () => {
    expect(ranked("workingset", "function")).toEqual([
      ["f2", 6],
      ["f1", 4],
      ["?", 1],
    ]);
    expect(ranked("mean-workingset", "function")).toEqual([
      ["f2", 6],
      ["f1", 3],
      ["?", 1],
    ]);
  });

  it("the lines that were never touched before, which add up to those of the run", () => {
    expect(ranked("new", "function")).toEqual([
      ["f1", 4],
      ["f2", 3],
      ["?", 1],
    ]);
    expect(wholeOf(measure("new"), { workingset: PROFILE })).toBe(8 * 64);
  });

  it("bytes of lines that stay untouched, which full lines have none of", () => {
    expect(rankedOf({ workingset: PROFILE }, { by: "fill", group: "function" })).toEqual([
      ["f2", 6 * 64 - 96],
      ["f1", (6 * 64 - 320) / 2],
    ]);
    expect(rankedOf({ workingset: PROFILE }, { by: "fill-part", group: "function" })).toContainEqual([
      "f1",
      320 / 384,
    ]);
  });

  it("the same by call path", () => {
    expect(ranked("lines", "path")).toEqual([
      ["f2", 6],
      ["f1 < f2", 4],
      ["f1 < f3", 2],
      ["?", 1],
    ]);
  });
});

describe("first touches and misses are ranked", () => {
  it("by function: what touched does not matter, nor who called", () => {
    expect(ranked("first-touch", "function")).toEqual([
      ["f1", 7],
      ["[the host]", 1],
    ]);
    expect(rankedOf({ workingset: PROFILE }, { by: "misses", group: "function" })).toEqual([
      ["f1", 14],
      ["[bulk instructions]", 2],
    ]);
  });

  it("by call path", () => {
    expect(ranked("first-touch", "path")).toEqual([
      ["f1 < f2", 4],
      ["f1 < f3", 3],
      ["[the host]", 1],
    ]);
  });

  it("not at all where nothing was recorded", () => {
    const bare = {
      ...PROFILE,
      instances: [{ ...PROFILE.instances[0]!, fill: undefined, locality: undefined }],
    };
    expect(rankedOf({ workingset: bare }, { by: "fill" })).toBeUndefined();
    expect(rankedOf({ workingset: bare }, { by: "misses" })).toBeUndefined();
  });
});
