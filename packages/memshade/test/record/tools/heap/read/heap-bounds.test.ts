import { describe, expect, it } from "vitest";
import { boundsOfBlocks } from "../../../../../src/record/tools/heap/read/heap-notes.ts";
import type { ShadowTotals } from "../../../../../src/record/tools/heap/read/read-shadow.ts";

const ZEROS = new Proxy({} as ShadowTotals, { get: (target, key) => Reflect.get(target, key) ?? 0 });
const totals = (some: Partial<ShadowTotals>): ShadowTotals =>
  new Proxy(ZEROS, { get: (target, key) => Reflect.get(some, key) ?? Reflect.get(target, key) });

describe("figures of the heap that are no exact counts", () => {
  it("are none of a run in which everything was seen", () => {
    expect(boundsOfBlocks([totals({ peakBytes: 100, allocations: 3 })])).toEqual([]);
  });

  it.each([
    [{ meanwhile: 1 }, "either", "peak"],
    [{ unmatchedFrees: 1 }, "least", "peak"],
    [{ overlaps: 1 }, "either", "left"],
    [{ outside: 1 }, "least", "peak"],
    [{ nearlyFullCounters: 1 }, "least", "accesses"],
  ] as const)("are bounds: %j", (some, are, figure) => {
    const bounds = boundsOfBlocks([totals(some)]);
    expect(bounds.filter(({ figures }) => figures.includes(figure))).toMatchObject([{ are }]);
  });

  it("are peaks of several instances: the real one is at most their sum", () => {
    const [one, other, none] = [totals({ peakBytes: 100 }), totals({ peakBytes: 50 }), totals({})];
    expect(boundsOfBlocks([one, other])).toMatchObject([{ figures: ["peak"], are: "most" }]);
    expect(boundsOfBlocks([one, none])).toEqual([]);
  });
});
