import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  binned,
  binOf,
  binStart,
  FootprintCurve,
  MissRatioCurve,
  shardsCurve,
  summarize,
  ValueHistogram,
} from "../../../../src/explain/analyses/locality.ts";
import { curveOf, reuseOfTrace } from "../../../support/reuse-of-trace.ts";

const stream = fc.array(fc.nat(40), { minLength: 1, maxLength: 300 });

/** Misses of a fully associative LRU cache: its lines, the most recently used first. */
function missesOfCache(lines: readonly number[], size: number): number {
  const cache: number[] = [];
  let misses = 0;
  for (const line of lines) {
    const at = cache.indexOf(line);
    if (at < 0) misses++;
    else cache.splice(at, 1);
    cache.unshift(line);
    cache.length = Math.min(cache.length, size);
  }
  return misses;
}

function footprintByWindows(lines: readonly number[], window: number): number {
  let sum = 0;
  for (let start = 0; start + window <= lines.length; start++)
    sum += new Set(lines.slice(start, start + window)).size;
  return sum / (lines.length - window + 1);
}

describe("miss-ratio curves", () => {
  it("are the misses of fully associative caches", () => {
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 50 }), (lines, size) => {
        const ratio = missesOfCache(lines, size) / lines.length;
        expect(curveOf(reuseOfTrace(lines)).at(size)).toBeCloseTo(ratio, 12);
      }),
    );
  });

  it("fall with the size, down to the cold misses", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const profile = reuseOfTrace(lines);
        const curve = curveOf(profile);
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
        const curve = new FootprintCurve(reuseOfTrace(lines));
        for (let window = 1; window <= lines.length; window++)
          expect(curve.at(window)).toBeCloseTo(footprintByWindows(lines, window), 9);
      }),
    );
  });

  it("start at one line, never fall, and end at all lines", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const profile = reuseOfTrace(lines);
        const curve = new FootprintCurve(profile);
        expect(curve.at(1)).toBeCloseTo(1, 9);
        expect(curve.at(lines.length)).toBeCloseTo(profile.lines, 9);
        for (let window = 1; window < lines.length; window++)
          expect(curve.at(window + 1)).toBeGreaterThanOrEqual(curve.at(window) - 1e-9);
      }),
    );
  });
});

describe("SHARDS", () => {
  it("with every line is the exact curve", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        const { references, lines: cold, distances } = reuseOfTrace(lines);
        const exact = new MissRatioCurve(distances, cold, references);
        const sampled = shardsCurve({ references, sampled: references, rate: 1, cold, distances });
        for (let size = 1; size < 50; size++) expect(sampled.at(size)).toBeCloseTo(exact.at(size), 12);
      }),
    );
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
