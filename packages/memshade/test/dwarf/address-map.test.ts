import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AddressMap } from "../../src/dwarf/address-map.ts";

describe("a map of addresses", () => {
  it("answers with the innermost of nested ranges", () => {
    const map = new AddressMap();
    map.add(0, 100, 1);
    map.add(10, 50, 2);
    map.add(10, 20, 3);
    expect([0, 9, 10, 19, 20, 49, 50, 99, 100].map((address) => map.get(address))).toEqual([
      ...[1, 1, 3, 3, 2, 2, 1, 1, -1],
    ]);
  });

  it("agrees with painting, however many nested ranges there are and in whatever order their parents come", () => {
    // Trees of ranges: each child lies inside its parent and beside its siblings.
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: 5000 }), { minLength: 2, maxLength: 1500 });
    fc.assert(
      fc.property(cuts, fc.array(fc.nat(1000), { maxLength: 400 }), (points, inner) => {
        const sorted = points.toSorted((one, other) => one - other);
        const ranges = sorted.slice(1).map((high, index) => [sorted[index]!, high] as [number, number]);
        const order = ranges.map((range, index) => ({ range, key: (index * 7919) % ranges.length }));
        order.sort((one, other) => one.key - other.key);
        const all = order.map(({ range }) => range);
        for (const parent of new Set(inner.map((pick) => pick % all.length))) {
          const [low, high] = all[parent]!;
          if (high - low > 2) all.push([low + 1, high - 1]);
        }
        const map = new AddressMap();
        const painted = new Int32Array(5001).fill(-1);
        all.forEach(([low, high], value) => {
          map.add(low, high, value);
          painted.fill(value, low, high);
        });
        for (let address = 0; address <= 5000; address++) {
          if (map.get(address) !== painted[address])
            expect([address, map.get(address)]).toEqual([address, painted[address]]);
        }
        expect(map.get(5000)).toBe(painted[5000]);
      }),
      { numRuns: 40 },
    );
  });
});
