import { describe, expect, it } from "vitest";
import {
  FootprintCurve,
  linesTouched,
  MissRatioCurve,
  ReuseTimeModel,
  reuseProfile,
  ShardsRecorder,
  shardsCurve,
  simulateCache,
} from "../../../src/analyses/locality/index.ts";

const [a, b, c] = [10, 20, 30];
const TRACE = [a, b, a, c, b, a];

describe("lines touched by an access", () => {
  it.each([
    [0, 64, 1],
    [60, 8, 2],
    [32, 96, 2],
    [63, 127, 3],
    [127, 2, 2],
    [1, 64, 2],
    [5, 0, 0],
  ])("%i + %i bytes lie in %i lines", (address, size, lines) => {
    expect(linesTouched(address, size)).toBe(lines);
  });
});

describe("the trace a b a c b a", () => {
  const profile = reuseProfile(TRACE);

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
    const curve = MissRatioCurve.of(profile);
    expect([1, 2, 3, 4].map((lines) => curve.at(lines))).toEqual([1, 5 / 6, 0.5, 0.5]);
  });

  it("has the footprints 1, 2, 2.75, 3, 3, 3", () => {
    const curve = new FootprintCurve(profile);
    expect([1, 2, 3, 4, 5, 6].map((window) => curve.at(window))).toEqual([1, 2, 2.75, 3, 3, 3]);
  });

  it("predicts 0.75 misses per reference for two lines from the footprint's slope", () => {
    const curve = new FootprintCurve(profile);
    expect(curve.at(2)).toBe(2);
    expect(curve.predictedMissRatio(2)).toBe(0.75);
  });

  it("gives StatStack's and AET's estimates", () => {
    const model = new ReuseTimeModel(profile);
    expect([0, 1, 2, 3].map((time) => model.survival(time))).toEqual([1, 1, 5 / 6, 0.5]);
    expect(model.expectedDistance(2)).toBeCloseTo(1, 12);
    expect(model.expectedDistance(3)).toBeCloseTo(11 / 6, 12);
    expect(model.missRatio(1)).toBeCloseTo(1, 12);
    expect(model.missRatio(2)).toBeCloseTo(5 / 6, 12);
  });

  it("is estimated from a and c alone at a rate of one half", () => {
    const recorder = new ShardsRecorder({ rate: 0.5, hash: (line) => (line === b ? 2 ** 24 - 1 : 0) });
    for (const line of TRACE) recorder.reference(line);
    const sampled = recorder.profile();
    expect(sampled).toMatchObject({ references: 6, sampled: 4, rate: 0.5, cold: 2 });
    expect(sampled.distances.entries()).toEqual([
      [0, 1],
      [2, 1],
    ]);
    const plain = shardsCurve(sampled, false);
    expect([1, 2, 3].map((lines) => plain.at(lines))).toEqual([0.75, 0.75, 0.5]);
    const adjusted = shardsCurve(sampled);
    expect([1, 2, 3].map((lines) => adjusted.at(lines))).toEqual([1, 1, 2 / 3]);
  });
});

describe("a direct-mapped cache of two lines", () => {
  it("misses 0 2 0 2 four times, half of it by conflict", () => {
    expect(simulateCache([0, 2, 0, 2], { lines: 2, ways: 1 })).toEqual({
      references: 4,
      misses: 4,
      cold: 2,
      capacity: 0,
      conflict: 2,
    });
  });
});
