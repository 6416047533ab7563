import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Attribution } from "../../../../../src/profile/model/working-set/working-set.ts";
import {
  buildLevels,
  type SnapshotRecord,
} from "../../../../../src/profile/model/working-set/working-set-series.ts";
import { CONTROL_BYTES, PIECE_BYTES } from "../../../../../src/record/native/tools/working-set/layout.ts";
import {
  LineOwners,
  MarkedLines,
} from "../../../../../src/record/native/tools/working-set/read/marked-lines.ts";
import { AttributionDescriber } from "../../../../../src/record/tools/working-set/attribution/read/describe-attribution.ts";
import type { AttributionEntry } from "../../../../../src/record/tools/working-set/attribution/read/open-attribution.ts";
import type { AttributedPlace } from "../../../../../src/record/tools/working-set/attribution/read/read-attribution.ts";

const HEAP = -2;
const CONTEXTS = [1, 2, 3, 4];
const PLACES = new Map<number, AttributedPlace>([
  [HEAP, { kind: "heap", path: [] }],
  ...CONTEXTS.map((key): [number, AttributedPlace] => [key, { kind: "code", path: [key] }]),
]);

/** A line that an interval touches, and the owners of its four parts at that time; 0: none. */
type Touch = [line: number, owners: number[]];

const touch: fc.Arbitrary<Touch> = fc.tuple(
  fc.nat(11),
  fc.oneof(
    fc.constantFrom(...CONTEXTS, 0).map((one) => [one, one, one, one]),
    fc.array(fc.constantFrom(...CONTEXTS, 0), { minLength: 4, maxLength: 4 }),
  ),
);
const run = fc.array(fc.uniqueArray(touch, { selector: ([line]) => line, maxLength: 8 }), {
  minLength: 1,
  maxLength: 40,
});

/** @param mergedAt interval before which neighbours are merged */
function recorded(intervals: readonly Touch[][], mergedAt?: number) {
  const owners = new LineOwners(() => HEAP);
  const lines = new MarkedLines(() => "heap", owners);
  const records: SnapshotRecord[] = [];
  const snapshots: AttributionEntry[][] = [];
  let scale = 0;
  intervals.forEach((touches, i) => {
    if (i === mergedAt && i % 2 === 0) {
      lines.mergeNeighbours();
      scale++;
    }
    const sorted = touches.toSorted(([a], [b]) => a - b);
    const marks = new Uint8Array(PIECE_BYTES);
    for (const [line] of sorted) marks[2 * line] = 1;
    const words = Uint32Array.from(sorted.flatMap(([, of]) => of));
    lines.piece(CONTROL_BYTES, marks, words);
    const { interval } = lines;
    records.push({ scale, interval, start: i, end: i + 1, counts: lines.end() });
    snapshots.push(owners.end());
  });
  const levels = buildLevels(records, false);
  const scales = levels.map(({ factor, start }) => ({ factor, intervals: start.length }));
  const described = new AttributionDescriber({ snapshots, places: PLACES }, records, 0, scales);
  return { levels, owners: described.owners((path) => path.map((at) => ({ function: at }))) };
}

const keyOf = ({ contexts }: Attribution, number: number) => contexts[number].stack[0]?.function ?? HEAP;

function sharesOf(owners: readonly number[]): [key: number, share: number][] {
  const owned = owners.filter((key) => key !== 0);
  if (owned.length === 0) return [[HEAP, 1]];
  return [...new Set(owned)].map((key) => [key, owned.filter((one) => one === key).length / owned.length]);
}

describe("whose lines are", () => {
  it("is whose they were when they were touched last, at every scale", () => {
    fc.assert(
      fc.property(run, (intervals) => {
        const { owners } = recorded(intervals);
        for (const level of owners.levels)
          level.intervals.forEach((listed, i) => {
            const last = new Map(intervals.slice(i * level.factor, (i + 1) * level.factor).flat());
            const expected = new Map<number, number>();
            for (const of of last.values())
              for (const [key, share] of sharesOf(of)) expected.set(key, (expected.get(key) ?? 0) + share);
            const found = new Map(listed.map(([number, share]) => [keyOf(owners, number), share]));
            expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
            for (const [key, share] of expected) expect(found.get(key)).toBeCloseTo(share, 4);
          });
      }),
      { numRuns: 300, seed: 35 },
    );
  });

  it("adds up to the lines of each interval and of the run, when intervals become longer too", () => {
    fc.assert(
      fc.property(run, fc.nat(40), (intervals, mergedAt) => {
        const { owners, levels } = recorded(intervals, mergedAt);
        levels.forEach(({ counts }, level) => {
          const { intervals: listed, others } = owners.levels[level];
          counts.lines!.forEach((lines, i) => {
            const sum = listed[i].reduce((all, [, share]) => all + share, others[i]);
            expect(sum).toBeCloseTo(lines, 4);
          });
        });
        const all = owners.contexts.reduce((sum, { total }) => sum + total, owners.otherContexts.total);
        const lines = new Set(intervals.flat().map(([line]) => line));
        expect(all).toBeCloseTo(lines.size, 4);
      }),
      { numRuns: 300, seed: 35 },
    );
  });
});
