import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundContexts } from "../../../../../src/show/report/page/data/page-builder.ts";

/** Tree: the parent of each context is an earlier one or none. */
const tree = fc
  .array(fc.tuple(fc.nat(), fc.nat({ max: 1000 }), fc.nat({ max: 3 }), fc.nat({ max: 4 })), {
    minLength: 1,
    maxLength: 80,
  })
  .map((rows) => ({
    callers: Int32Array.from(rows, ([caller], row) => (caller % (row + 1)) - 1),
    frames: Int32Array.from(rows, ([, , , frame]) => frame),
    // A context's site is itself, its caller, or the caller's caller.
    sites: Int32Array.from(rows, ([caller, , steps], row) => {
      const above = (caller % (row + 1)) - 1;
      return steps === 0 ? -1 : steps === 1 || above < 0 ? row : above;
    }),
    weights: [Float64Array.from(rows, ([, value]) => value), Float64Array.from(rows, ([, , value]) => value)],
  }));

const sumOf = (column: Float64Array) => column.reduce((total, value) => total + value, 0);

function sumsBy(values: Float64Array, keyOf: (index: number) => number): Record<number, number> {
  const sums: Record<number, number> = {};
  values.forEach((value, index) => {
    if (value !== 0) sums[keyOf(index)] = (sums[keyOf(index)] ?? 0) + value;
  });
  return sums;
}

/** Total of each row: its own value and those of its callees. */
function withCallees(parent: Int32Array, own: Float64Array): Float64Array {
  const sums = own.slice();
  for (let row = parent.length - 1; row >= 0; row--) if (parent[row]! >= 0) sums[parent[row]!]! += sums[row]!;
  return sums;
}

describe("contexts above the bound", () => {
  it("are merged below those that are kept, whose sums stay as they were", () => {
    fc.assert(
      fc.property(tree, fc.integer({ min: 1, max: 90 }), ({ callers, weights, frames, sites }, most) => {
        const { parent, origin, like, site, rowOf, isMerged, mergedInto, mergedContexts } = boundContexts(
          callers,
          weights.map((weight) => () => weight.slice()),
          most,
          { frame: (context) => frames[context]!, site: sites },
        );
        const kept = origin.filter((context) => context >= 0).length;
        expect(kept).toBeGreaterThan(0);
        expect(kept).toBeLessThanOrEqual(Math.min(most, callers.length));
        expect(kept === 1 || origin.length <= 2 * most || most >= callers.length).toBe(true);
        for (const [row, caller] of parent.entries()) expect(caller).toBeLessThan(row);
        for (const weight of weights) {
          const own = new Float64Array(parent.length);
          weight.forEach((value, context) => {
            own[rowOf[context]!]! += value;
          });
          expect(sumOf(own)).toBe(sumOf(weight));
          const frameOfRow = (row: number) =>
            origin[row]! >= 0 ? frames[origin[row]!]! : like[row]! >= 0 ? frames[like[row]!]! : -1;
          const siteOfRow = (row: number) => {
            const from = origin[row]!;
            const named = from < 0 ? site[row]! : sites[from]! < 0 ? -1 : rowOf[sites[from]!]!;
            return frameOfRow(named < 0 ? row : named);
          };
          const siteOf = (context: number) => frames[sites[context]! < 0 ? context : sites[context]!]!;
          expect(sumsBy(own, siteOfRow)).toEqual(sumsBy(weight, siteOf));
          expect(sumsBy(own, frameOfRow)).toEqual(sumsBy(weight, (context) => frames[context]!));
          const [before, after] = [withCallees(callers, weight), withCallees(parent, own)];
          origin.forEach((context, row) => {
            if (context >= 0) expect(after[row]).toBe(before[context]);
          });
        }
        const hasOwn = (context: number) => weights.some((weight) => weight[context] !== 0);
        const merged = [...isMerged.keys()].filter((context) => isMerged[context] === 1 && hasOwn(context));
        expect(mergedContexts).toBe(merged.length);
        expect(sumOf(Float64Array.from(mergedInto))).toBe(merged.length);
      }),
    );
  });

  it("are those with the least part of everything", () => {
    const callers = Int32Array.of(-1, 0, 0, 0, 0);
    const bytes = Float64Array.of(0, 100, 1, 2, 0);
    const leaks = Float64Array.of(0, 0, 0, 0, 5);
    const { origin, mergedInto } = boundContexts(callers, [() => bytes.slice(), () => leaks.slice()], 3, {
      frame: (context) => context,
      site: new Int32Array(5).fill(-1),
    });
    expect([...origin]).toEqual([0, 1, -1, -1, -1, 4]);
    expect([...mergedInto]).toEqual([0, 0, 0, 1, 1, 0]);
  });
});
