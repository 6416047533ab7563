import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PageLane, PageTimeline } from "../../../../../src/show/report/page/data/page-data.ts";
import {
  beginOf,
  chunks,
  heightsOf,
  intervalAt,
  partAt,
  plotsOf,
  sumLane,
} from "../../../../../src/show/report/page/time/draw-plots.ts";
import {
  largestGroups,
  partsOf,
  rangeInWords,
  splitLane,
  stepRange,
} from "../../../../../src/show/report/page/time/timeline.ts";
import { madeUpPage } from "../made-up-page.ts";

const [heap, workingSet] = madeUpPage({ contexts: 300, intervals: 40, seed: 3 }).timelines;

function lane(shape: PageLane["shape"], unit: PageLane["unit"], ...values: number[]): PageLane {
  return { id: "lane", label: "lane", word: "live", unit, shape, values: Float64Array.from(values) };
}

const UNEVEN: PageTimeline = {
  tool: "heap",
  unit: "allocations",
  start: 0,
  ends: Float64Array.of(10, 20, 100),
  phases: [],
  lanes: [
    lane("level", "bytes", 1024, 4096, 2048),
    lane("most", "bytes", 1500, 5000, 4096),
    lane("amount", "bytes", 5, 10, 20),
  ],
};

describe("a timeline", () => {
  it("has an interval at every part of its time, as wide as it lasted", () => {
    expect([0, 0.05, 0.1, 0.19, 0.2, 0.99, 1].map((part) => intervalAt(UNEVEN, part))).toEqual([
      0, 0, 1, 1, 2, 2, 2,
    ]);
    expect([0, 1, 2, 3].map((interval) => partAt(UNEVEN, interval))).toEqual([0, 0.1, 0.2, 1]);
    expect([0, 1, 3].map((interval) => beginOf(UNEVEN, interval))).toEqual([0, 10, 100]);
    fc.assert(
      fc.property(fc.nat(39), (interval) => {
        expect(intervalAt(heap, (partAt(heap, interval) + partAt(heap, interval + 1)) / 2)).toBe(interval);
      }),
    );
  });

  it("draws amounts as a rate, for a long interval is not a busy one", () => {
    expect([...heightsOf(UNEVEN.lanes[2], UNEVEN)]).toEqual([0.5, 1, 0.25]);
    expect(heightsOf(UNEVEN.lanes[0], UNEVEN)).toBe(UNEVEN.lanes[0].values);
  });

  it("draws the level with its most, and accesses; amounts where there is no level", () => {
    expect(plotsOf(UNEVEN).map(({ area, line }) => [area.shape, line?.shape])).toEqual([["level", "most"]]);
    const accesses = { ...UNEVEN, lanes: [...UNEVEN.lanes, lane("amount", "accesses", 1, 2, 3)] };
    expect(plotsOf(accesses).map(({ area }) => area.unit)).toEqual(["bytes", "accesses"]);
    expect(plotsOf(workingSet).map(({ area }) => area.id)).toEqual(["lines"]);
  });

  it("tells a range in the units of its lanes", () => {
    expect(rangeInWords(UNEVEN, { from: 1, to: 3 }, plotsOf(UNEVEN))).toBe(
      "10 – 100 allocations: lane 2.00 KiB at the end (+1.00 KiB), at most 4.88 KiB",
    );
    const timed: PageTimeline = { ...UNEVEN, unit: "ns", ends: Float64Array.of(2e6, 5e6, 94e6) };
    expect(rangeInWords(timed, { from: 1, to: 3 }, plotsOf(timed))).toMatch(/^2\S* ms – 94\S* ms: lane/);
  });

  it("adds up what can be added up: lines may be the same ones in two intervals", () => {
    const whole = { from: 0, to: 3 };
    expect(sumLane(lane("amount", "bytes", 1, 5, 3), whole)).toEqual({ value: 9, kind: "sum" });
    expect(sumLane(lane("used", "bytes", 1, 5, 3), whole)).toEqual({ value: 5, kind: "most" });
    expect(sumLane(lane("level", "bytes", 1, 5, 3), whole)).toEqual({ value: 3, kind: "end" });
  });

  it("is cut into equal parts for a table, each interval in one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 500 }), (intervals, most) => {
        const parts = chunks(intervals, most);
        expect(parts.length).toBeLessThanOrEqual(most);
        expect(parts[0].from).toBe(0);
        expect(parts.at(-1)!.to).toBe(intervals);
        for (const [index, part] of parts.entries())
          if (index > 0) expect(part.from).toBe(parts[index - 1].to);
      }),
    );
  });
});

describe("what groups of contexts have of a lane", () => {
  it("is all of it for all contexts together", () => {
    expect(splitLane(heap)).toBe("live");
    const [all] = partsOf(heap, new Int32Array(300), 1);
    expect(all).toEqual(heap.lanes[0].values);
  });

  it("adds up to that of the contexts together", () => {
    const groupOf = Int32Array.from({ length: 300 }, (_, context) => context % 3);
    const parts = partsOf(heap, groupOf, 3);
    const together = heap.lanes[0].values.map((_, interval) =>
      parts.reduce((sum, part) => sum + part[interval], 0),
    );
    expect(together).toEqual(heap.lanes[0].values);
  });

  it("begins with what was live before, and is nothing for contexts of no group", () => {
    const context = Int32Array.of(0, 1);
    const deltas = {
      offset: Int32Array.of(0, 1, 2, 2),
      context,
      columns: [{ weight: "bytes", values: Float64Array.of(8, 4) }],
      begin: { context, bytes: Float64Array.of(100, 1), blocks: Float64Array.of(1, 1) },
    };
    const timeline: PageTimeline = { ...UNEVEN, deltas };
    expect(partsOf(timeline, Int32Array.of(0, -1), 1)).toEqual([Float64Array.of(108, 108, 108)]);
    expect(largestGroups(timeline, Int32Array.of(0, 1), 2, 5)).toEqual([0, 1]);
    expect(largestGroups(timeline, Int32Array.of(0, 1), 2, 1)).toEqual([0]);
  });

  it("is not known where nobody recorded it", () => {
    expect(splitLane(workingSet)).toBe(undefined);
    expect(largestGroups(workingSet, new Int32Array(300), 1, 3)).toEqual([]);
  });

  it("of a working set is of each interval alone", () => {
    const deltas = {
      offset: Int32Array.of(0, 1, 1, 2),
      context: Int32Array.of(0, 0),
      columns: [{ weight: "owned", values: Float64Array.of(8, 4) }],
    };
    const timeline: PageTimeline = { ...UNEVEN, tool: "workingset", deltas };
    expect(partsOf(timeline, Int32Array.of(0), 1)).toEqual([Float64Array.of(8, 0, 4)]);
  });
});

describe("the keyboard", () => {
  const keys = (...pressed: string[]) => {
    let place: Parameters<typeof stepRange>[2] = { intervals: 20 };
    for (const key of pressed) {
      const isRange = key.startsWith("Shift+");
      const next = stepRange(key.replace("Shift+", ""), isRange, place);
      if (next !== undefined) place = { ...place, ...next };
    }
    return [place.cursor, place.range && [place.range.from, place.range.to]];
  };

  it("goes through the intervals and leaves the range as it is", () => {
    expect(keys("ArrowRight")).toEqual([0, undefined]);
    expect(keys("ArrowRight", "ArrowRight", "ArrowRight")).toEqual([2, undefined]);
    expect(keys("End", "End", "ArrowRight")).toEqual([19, undefined]);
  });

  it("takes the range along with Shift, from where it was", () => {
    expect(keys("ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight")).toEqual([3, [1, 4]]);
    expect(
      keys("ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft", "Shift+ArrowLeft"),
    ).toEqual([0, [0, 2]]);
    expect(keys("ArrowRight", "PageDown", "Shift+End")).toEqual([19, [2, 20]]);
  });

  it("means nothing by other keys", () => {
    expect(keys("a", "constructor", "Tab")).toEqual([undefined, undefined]);
  });
});
