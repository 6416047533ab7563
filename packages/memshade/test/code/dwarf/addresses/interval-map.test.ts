import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IntervalMap } from "../../../../src/code/dwarf/addresses/subroutine-index.ts";

type Interval = readonly [low: number, high: number];

/** The same rules on an ordinary map: slow, and short enough to be seen to be right. */
class SlowIntervals {
  readonly #entries = new Map<number, { end: number; value: number }>();

  #before(address: number): number | undefined {
    const starts = [...this.#entries.keys()].filter((start) => start <= address);
    return starts.length === 0 ? undefined : Math.max(...starts);
  }

  add(low: number, high: number, value: number): void {
    if (low === high) return;
    const start = this.#before(low);
    const around = start === undefined ? undefined : this.#entries.get(start)!;
    if (around !== undefined && low < around.end) {
      if (high < around.end) this.#entries.set(high, { ...around });
      if (low > start!) around.end = low;
    }
    this.#entries.set(low, { end: high, value });
  }

  find(address: number): number {
    const start = this.#before(address);
    const entry = start === undefined ? undefined : this.#entries.get(start)!;
    return entry !== undefined && address < entry.end ? entry.value : -1;
  }
}

function build(intervals: readonly Interval[]): IntervalMap {
  const map = new IntervalMap();
  intervals.forEach(([low, high], value) => {
    map.add(low, high, value);
  });
  return map;
}

describe("a map of intervals", () => {
  it("answers with the innermost interval", () => {
    const map = build([
      [10, 50],
      [20, 30],
      [22, 24],
    ]);
    expect([9, 10, 20, 22, 24, 30, 49, 50].map((address) => map.find(address))).toEqual([
      -1, 0, 1, 2, 1, 0, 0, -1,
    ]);
  });

  it("lets what starts inside of a later interval stay", () => {
    const map = build([
      [20, 30],
      [10, 40],
    ]);
    expect([15, 25, 35].map((address) => map.find(address))).toEqual([1, 0, -1]);
  });

  it("agrees with the plain rules, however intervals overlap", () => {
    const interval = fc.tuple(fc.nat(200), fc.nat(60)).map(([low, size]): Interval => [low, low + size]);
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 60 }), (intervals) => {
        const map = build(intervals);
        const slow = new SlowIntervals();
        intervals.forEach(([low, high], value) => {
          slow.add(low, high, value);
        });
        for (let address = 0; address < 270; address++) expect(map.find(address)).toBe(slow.find(address));
      }),
    );
  });

  it("holds many intervals in any order", () => {
    const count = 5000;
    const map = new IntervalMap();
    for (let i = 0; i < count; i++) {
      const place = (i * 7919) % count;
      map.add(place * 10, place * 10 + 5, place);
    }
    for (let place = 0; place < count; place++) {
      expect(map.find(place * 10 + 4)).toBe(place);
      expect(map.find(place * 10 + 5)).toBe(-1);
    }
  });
});
