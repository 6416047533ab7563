import { describe, expect, it } from "vitest";
import { foldCallers, rankPairs } from "../../../../src/explain/analyses/waste.ts";
import type { WasteIp } from "../../../../src/profile/model/waste.ts";
import { store, wasteOf } from "./waste-picture.ts";

const path = (...addresses: number[]): WasteIp[] => addresses.map((address) => ({ address }));

describe("pairs", () => {
  it("show common callers once", () => {
    expect(foldCallers(path(1, 10, 20, 30), path(2, 11, 20, 30))).toEqual({
      first: path(1, 10),
      second: path(2, 11),
      common: path(20, 30),
    });
  });

  it("keep both places where one of them calls the other, or both are the same", () => {
    expect(foldCallers(path(1, 20, 30), path(20, 30))).toEqual({
      first: path(1, 20),
      second: path(20),
      common: path(30),
    });
    expect(foldCallers(path(1, 30), path(1, 30))).toEqual({
      first: path(1),
      second: path(1),
      common: path(30),
    });
    expect(foldCallers([], path(1, 30))).toEqual({ first: [], second: path(1, 30), common: [] });
  });

  const file = wasteOf({
    stores: [store("clear", 1, {}), store("fill", 2, {})],
    pairs: [
      { kind: "overwritten", first: 0, second: 1, bytes: 60, operations: 3 },
      { kind: "silent", origin: "zero", second: 0, bytes: 500, operations: 9 },
      { kind: "deallocated", first: 1, end: 0, bytes: 140, operations: 7 },
    ],
    ends: [{ ips: path(77) }],
  });

  it("are ranked by their bytes, each kind of waste apart, with shares that add up", () => {
    const rows = rankPairs(file, "dead");
    expect(
      rows.map(({ kind, bytes, share, cumulativeShare }) => [kind, bytes, share, cumulativeShare]),
    ).toEqual([
      ["deallocated", 140, 0.7, 0.7],
      ["overwritten", 60, 0.3, 1],
    ]);
    expect(rows[0].second).toEqual(path(77));
    expect(rankPairs(file, "silent")).toMatchObject([{ first: [], origin: "zero", share: 1 }]);
    expect(rankPairs(file, "redundant")).toEqual([]);
  });
});
