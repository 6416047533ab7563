import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type SampledContext,
  spread,
} from "../../../../../../src/record/native/tools/waste/read/sampled-contexts.ts";

interface Figures extends Record<string, number> {
  runs: number;
  fresh: number;
}

const context = (runs: number, samples: number): SampledContext => ({
  context: 1,
  firstId: 1,
  samples,
  runs,
  stores: [],
  loads: [],
});
const byRuns = (_: keyof Figures, { runs }: Figures): number => runs;
const sumOf = (parts: readonly Figures[], name: keyof Figures): number =>
  parts.reduce((sum, part) => sum + part[name], 0);

describe("what samples say of contexts", () => {
  it("spreads figures by what a run does there, times the runs that it stands for", () => {
    const contexts = [context(3000, 3), context(1000, 1)];
    const sampled = [
      { runs: 3, fresh: 3 },
      { runs: 1, fresh: 0 },
    ];
    expect(spread({ runs: 400, fresh: 200 }, contexts, sampled, byRuns)).toEqual([
      { runs: 300, fresh: 200 },
      { runs: 100, fresh: 0 },
    ]);
  });

  it("gives nothing to a context that is left without runs, and loses nothing by that", () => {
    const contexts = [context(1, 1), context(1000, 1)];
    const sampled = [
      { runs: 1, fresh: 1 },
      { runs: 1, fresh: 0 },
    ];
    expect(spread({ runs: 10, fresh: 4 }, contexts, sampled, byRuns)).toEqual([
      { runs: 0, fresh: 0 },
      { runs: 10, fresh: 4 },
    ]);
  });

  it("adds up to the figures, with no context above what its runs can do", () => {
    const one = fc.record({
      runs: fc.integer({ min: 1, max: 5000 }),
      samples: fc.integer({ min: 1, max: 9 }),
    });
    const many = fc.array(fc.record({ one, fresh: fc.integer({ min: 0, max: 9 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(many, fc.integer({ min: 1, max: 900 }), fc.nat(900), (all, runs, most) => {
        const fresh = Math.min(runs, most);
        const parts = spread(
          { runs, fresh },
          all.map((each) => context(each.one.runs, each.one.samples)),
          all.map((each) => ({ runs: each.one.samples, fresh: each.fresh })),
          byRuns,
        );
        expect(sumOf(parts, "runs")).toBe(runs);
        expect(sumOf(parts, "fresh")).toBe(fresh);
        for (const part of parts) expect(part.fresh).toBeLessThanOrEqual(part.runs);
      }),
    );
  });
});
