import { describe, expect, it } from "vitest";
import { FootprintCurve, shardsCurve, ValueHistogram } from "../../../../src/explain/analyses/locality.ts";
import { curveOf, reuseOfTrace } from "../../../support/reuse-of-trace.ts";

const [a, b, c] = [10, 20, 30];
const TRACE = [a, b, a, c, b, a];

describe("the trace a b a c b a", () => {
  const profile = reuseOfTrace(TRACE);

  it("has six references to three lines", () => {
    expect(profile).toMatchObject({ references: 6, lines: 3 });
  });

  it("reuses a after 2, b after 3 and a after 3 references", () => {
    expect(profile.times.entries()).toEqual([
      [2, 1],
      [3, 2],
    ]);
  });

  it("reuses over 1, 2 and 2 other lines", () => {
    expect(profile.distances.entries()).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("misses always, five times, three times in caches of 1, 2, 3 lines", () => {
    const curve = curveOf(profile);
    expect([1, 2, 3, 4].map((lines) => curve.at(lines))).toEqual([1, 5 / 6, 0.5, 0.5]);
  });

  it("has the footprints 1, 2, 2.75, 3, 3, 3", () => {
    const curve = new FootprintCurve(profile);
    expect([1, 2, 3, 4, 5, 6].map((window) => curve.at(window))).toEqual([1, 2, 2.75, 3, 3, 3]);
  });

  it("is estimated from a and c alone at a rate of one half", () => {
    const distances = new ValueHistogram();
    for (const distance of [0, 2]) distances.add(distance);
    const curve = shardsCurve({ references: 6, sampled: 4, rate: 0.5, cold: 2, distances });
    expect([1, 2, 3].map((lines) => curve.at(lines))).toEqual([1, 1, 2 / 3]);
  });
});
