import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { buildLevels, totalOf } from "../../../../src/profile/model/working-set/working-set-series.ts";
import { IntervalStamps } from "./interval-stamps.ts";

interface Touch {
  address: number;
  size: number;
  writes: boolean;
}

const line = (letter: string): Touch => ({ address: letter.charCodeAt(0) * 64, size: 4, writes: false });

/** Intervals of letters, one line each: `"ab a c"`. The last interval stays open. */
function record(intervals: readonly (readonly Touch[])[], mostIntervals = 64) {
  const stamps = new IntervalStamps({ mostIntervals });
  intervals.forEach((touches, interval) => {
    for (const { address, size, writes } of touches) stamps.access(address, size, writes);
    if (interval < intervals.length - 1) stamps.tick(interval + 1);
  });
  return stamps.finish(intervals.length);
}

const letters = (...intervals: string[]) => intervals.map((letters) => [...letters].map(line));
const EIGHT = letters("ab", "a", "c", "a", "d", "d", "", "ad");

describe("interval stamps", () => {
  it("count the series of all scales in one pass", () => {
    const records = record(EIGHT);
    const levels = buildLevels(records, false);
    expect(levels.map(({ factor, counts }) => [factor, counts.lines])).toEqual([
      [1, [2, 1, 1, 1, 1, 1, 0, 2]],
      [4, [3, 2]],
      [16, [4]],
    ]);
    expect(levels.map(({ lastIsPartial }) => lastIsPartial)).toEqual([false, false, true]);
    expect(totalOf(records, "lines")).toBe(4);
    expect(levels[0].fresh).toEqual([2, 0, 1, 0, 1, 0, 0, 0]);
  });

  it("merge neighbours when more intervals come than are kept", () => {
    const [level] = buildLevels(record(letters("a", "b", "a", "c", "d"), 4), true);
    expect(level).toMatchObject({ start: [0, 2, 4], end: [2, 4, 5], lastIsPartial: true });
    expect(level.counts.lines).toEqual([2, 2, 1]);
  });

  it("tell lines read, written and both apart, and count pages", () => {
    const load = (address: number, size: number): Touch => ({ address, size, writes: false });
    const store = (address: number, size: number): Touch => ({ address, size, writes: true });
    const touches = [load(0, 4), store(0x40, 8), load(0x1000, 4), store(0x1004, 4), load(0x103c, 8)];
    const [level] = buildLevels(record([touches]), true);
    expect(level.counts).toEqual({
      lines: [4],
      read: [3],
      written: [2],
      both: [1],
      pages4K: [2],
      pages64K: [1],
    });
  });

  it("agree with sets at every scale, however often neighbours were merged", () => {
    const touch = fc.record({
      address: fc.nat(64 * 24),
      size: fc.constantFrom(1, 4, 8, 16, 100),
      writes: fc.boolean(),
    });
    const run = fc.array(fc.array(touch, { maxLength: 6 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(run, fc.constantFrom(4, 8, 64), (intervals, mostIntervals) => {
        const records = record(intervals, mostIntervals);
        const width = 2 ** records[records.length - 1].scale;
        for (const { factor, counts, start } of buildLevels(records, false)) {
          const expected = bySets(intervals, width * factor);
          expect(start.length).toBe(expected.lines.length);
          expect(counts).toMatchObject(expected);
        }
      }),
    );
  });
});

function bySets(intervals: readonly (readonly Touch[])[], width: number) {
  const counts = {
    lines: [] as number[],
    read: [] as number[],
    written: [] as number[],
    both: [] as number[],
  };
  for (let at = 0; at < intervals.length; at += width) {
    const read = new Set<number>();
    const written = new Set<number>();
    for (const { address, size, writes } of intervals.slice(at, at + width).flat())
      for (let byte = address; byte < address + size; byte++) (writes ? written : read).add(byte >> 6);
    counts.lines.push(new Set([...read, ...written]).size);
    counts.read.push(read.size);
    counts.written.push(written.size);
    counts.both.push([...read].filter((one) => written.has(one)).length);
  }
  return counts;
}
