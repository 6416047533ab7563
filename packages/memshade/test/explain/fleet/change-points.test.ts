import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changePoints, type Samples, welchT } from "../../../src/explain/fleet/trend.ts";

function samples(...values: number[]): Samples {
  return {
    count: values.length,
    sum: values.reduce((sum, value) => sum + value, 0),
    squares: values.reduce((sum, value) => sum + value * value, 0),
  };
}

/** Reproducible numbers around a mean that look random. */
function noisy(mean: number, spread: number, seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43758.5453;
  return mean + spread * (x - Math.floor(x) - 0.5) * 2;
}

describe("Welch's t", () => {
  it("is the difference of the means over its standard error, computed by hand", () => {
    // Means 2 and 12, variances (of samples) 1 and 4: 10 / √(1/3 + 4/3) = 7.746
    expect(welchT(samples(1, 2, 3), samples(10, 12, 14))).toBeCloseTo(10 / Math.sqrt(5 / 3), 6);
  });

  it("says nothing of two runs", () => {
    expect(welchT(samples(1, 2), samples(10, 12, 14))).toBeUndefined();
  });

  it("is endless where nothing differs but the means", () => {
    expect(welchT(samples(5, 5, 5), samples(6, 6, 6))).toBe(Number.POSITIVE_INFINITY);
    expect(welchT(samples(5, 5, 5), samples(5, 5, 5))).toBe(0);
  });
});

describe("change points", () => {
  it("are all differences, where each run of a build gives the same number", () => {
    const builds = [100, 100, 108, 108, 107].map((value) => samples(value));
    expect(changePoints(builds, true)).toEqual([
      { at: 2, first: 1, end: 3, t: undefined },
      { at: 4, first: 3, end: 5, t: undefined },
    ]);
  });

  it("find a step among noise at its build, from single runs", () => {
    const builds = Array.from({ length: 40 }, (_, at) => samples(noisy(at < 23 ? 1000 : 1150, 60, at)));
    expect(changePoints(builds, false).map(({ at }) => at)).toEqual([23]);
  });

  it("find two steps, and compare each with what lies between them", () => {
    const mean = (at: number) => (at < 15 ? 1000 : at < 30 ? 1300 : 1100);
    const builds = Array.from({ length: 45 }, (_, at) => samples(noisy(mean(at), 40, at)));
    const found = changePoints(builds, false);
    expect(found.map(({ at }) => at)).toEqual([15, 30]);
    expect(found[0]).toMatchObject({ first: 0, end: 35 });
  });

  it("are none where runs of one build differ, and builds by no more than these", () => {
    const builds = Array.from({ length: 20 }, (_, at) =>
      samples(...Array.from({ length: 5 }, (_, run) => noisy(1000, 100, at * 5 + run))),
    );
    expect(changePoints(builds, true)).toEqual([]);
  });

  it("do not depend on the unit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 2, maxLength: 30 }),
        fc.constantFrom(2, 1024),
        (values, unit) => {
          const builds = values.map((value) => samples(value));
          const scaled = values.map((value) => samples(value * unit));
          const places = (of: Samples[]) => changePoints(of, false).map(({ at }) => at);
          expect(places(scaled)).toEqual(places(builds));
        },
      ),
    );
  });
});
