import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  binned,
  binOf,
  binStart,
  COLD,
  cacheSizesUpTo,
  FootprintCurve,
  MissRatioCurve,
  meanAbsoluteError,
  ReuseDistances,
  ReuseTimeModel,
  reuseProfile,
  ShardsRecorder,
  shardsCurve,
  simulateCache,
  summarize,
  ValueHistogram,
} from "../../../src/analyses/locality/index.ts";

const stream = fc.array(fc.nat(40), { minLength: 1, maxLength: 300 });

/** Distances by the definition: an LRU stack that is searched from its top. */
function distancesByStack(lines: readonly number[]): number[] {
  const stack: number[] = [];
  return lines.map((line) => {
    const at = stack.indexOf(line);
    if (at >= 0) stack.splice(at, 1);
    stack.unshift(line);
    return at >= 0 ? at : COLD;
  });
}

function footprintByWindows(lines: readonly number[], window: number): number {
  let sum = 0;
  for (let start = 0; start + window <= lines.length; start++)
    sum += new Set(lines.slice(start, start + window)).size;
  return sum / (lines.length - window + 1);
}

/** A stream with hot and cold lines and passes over arrays, as programs have; repeatable. */
function mixedStream(length: number): number[] {
  let state = 12345;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const lines: number[] = [];
  while (lines.length < length) {
    const kind = random(10);
    if (kind < 6) for (let i = 0; i < 20; i++) lines.push(random(500));
    else if (kind < 9) for (let i = 0; i < 200; i++) lines.push(1000 + random(6000));
    else for (let i = 0; i < 3000; i++) lines.push(10_000 + i);
  }
  return lines.slice(0, length);
}

describe("reuse distances", () => {
  it("are those of an LRU stack", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const distances = new ReuseDistances();
        expect(lines.map((line) => distances.reference(line))).toEqual(distancesByStack(lines));
      }),
    );
  });

  it("stay right when positions are renumbered", () => {
    const lines = mixedStream(12_000).map((line) => line % 700);
    const distances = new ReuseDistances();
    expect(lines.map((line) => distances.reference(line))).toEqual(distancesByStack(lines));
  });

  it("forget a removed line as if it had never been there", () => {
    fc.assert(
      fc.property(stream, fc.nat(40), (lines, removed) => {
        const distances = new ReuseDistances();
        const kept = new ReuseDistances();
        for (const line of lines) distances.reference(line);
        for (const line of lines) if (line !== removed) kept.reference(line);
        distances.remove(removed);
        for (const line of lines) expect(distances.reference(line)).toBe(kept.reference(line));
      }),
    );
  });
});

describe("miss-ratio curves", () => {
  it("are the misses of fully associative caches", () => {
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 50 }), (lines, size) => {
        const { misses } = simulateCache(lines, { lines: size, ways: size });
        expect(MissRatioCurve.of(reuseProfile(lines)).at(size)).toBeCloseTo(misses / lines.length, 12);
      }),
    );
  });

  it("fall with the size, down to the cold misses", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const profile = reuseProfile(lines);
        const curve = MissRatioCurve.of(profile);
        for (let size = 1; size < 50; size++)
          expect(curve.at(size)).toBeGreaterThanOrEqual(curve.at(size + 1));
        expect(curve.at(profile.lines)).toBe(profile.lines / lines.length);
      }),
    );
  });
});

describe("footprints", () => {
  it("are means over all windows", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(12), { minLength: 1, maxLength: 60 }), (lines) => {
        const curve = new FootprintCurve(reuseProfile(lines));
        for (let window = 1; window <= lines.length; window++)
          expect(curve.at(window)).toBeCloseTo(footprintByWindows(lines, window), 9);
      }),
    );
  });

  it("start at one line, never fall, and end at all lines", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const profile = reuseProfile(lines);
        const curve = new FootprintCurve(profile);
        expect(curve.at(1)).toBeCloseTo(1, 9);
        expect(curve.at(lines.length)).toBeCloseTo(profile.lines, 9);
        for (let window = 1; window < lines.length; window++)
          expect(curve.at(window + 1)).toBeGreaterThanOrEqual(curve.at(window) - 1e-9);
      }),
    );
  });
});

describe("estimates from reuse times", () => {
  it("are near the exact curve on a mixed stream", () => {
    const profile = reuseProfile(mixedStream(60_000));
    const sizes = cacheSizesUpTo(profile.lines);
    const exact = MissRatioCurve.of(profile);
    const model = new ReuseTimeModel(profile);
    const estimated = { at: (size: number) => model.missRatio(size) };
    expect(meanAbsoluteError(exact, estimated, sizes)).toBeLessThan(0.05);
  });
});

describe("SHARDS", () => {
  it("with every line is the exact curve", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const recorder = new ShardsRecorder({ rate: 1 });
        for (const line of lines) recorder.reference(line);
        const exact = MissRatioCurve.of(reuseProfile(lines));
        const sampled = shardsCurve(recorder.profile());
        for (let size = 1; size < 50; size++) expect(sampled.at(size)).toBeCloseTo(exact.at(size), 12);
      }),
    );
  });

  it("with a bounded number of lines is the exact curve as long as there are no more", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const bounded = new ShardsRecorder({ rate: 1, mostLines: 41 });
        for (const line of lines) bounded.reference(line);
        const curve = shardsCurve(bounded.profile());
        const exact = MissRatioCurve.of(reuseProfile(lines));
        for (let size = 1; size < 50; size++) expect(curve.at(size)).toBeCloseTo(exact.at(size), 12);
      }),
    );
  });

  it.each([{ rate: 0.1 }, { rate: 1, mostLines: 1024 }])("comes close with %o", (options) => {
    const lines = mixedStream(200_000);
    const exact = MissRatioCurve.of(reuseProfile(lines));
    const recorder = new ShardsRecorder(options);
    for (const line of lines) recorder.reference(line);
    const profile = recorder.profile();
    expect(profile.rate).toBeLessThan(0.2);
    expect(meanAbsoluteError(exact, shardsCurve(profile), cacheSizesUpTo(16_384))).toBeLessThan(0.03);
  });
});

describe("histograms", () => {
  it("have the bins 0, 1, 2–3, 4–7, …", () => {
    expect([0, 1, 2, 3, 4, 7, 8].map(binOf)).toEqual([0, 1, 2, 2, 3, 3, 4]);
    expect([0, 1, 2, 3, 4].map(binStart)).toEqual([0, 1, 2, 4, 8]);
    const histogram = new ValueHistogram();
    for (const value of [0, 0, 1, 3, 2, 9]) histogram.add(value);
    expect(binned(histogram)).toEqual([2, 1, 2, 0, 1]);
  });

  it("summarise by mean, lower median and deviation", () => {
    const histogram = new ValueHistogram();
    for (const value of [2, 4, 4, 4, 5, 5, 7, 9]) histogram.add(value);
    expect(summarize(histogram)).toEqual({ count: 8, mean: 5, median: 4, deviation: 2 });
    expect(summarize(new ValueHistogram())).toEqual({ count: 0, mean: 0, median: 0, deviation: 0 });
  });
});
