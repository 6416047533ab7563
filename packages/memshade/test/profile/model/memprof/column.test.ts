import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Column, NarrowColumn, RankedBits } from "../../../../src/profile/model/memprof/index.ts";

const anyWrites = fc.array(
  fc.tuple(
    fc.oneof(fc.nat(2000), fc.integer({ min: 60_000, max: 140_000 })),
    fc.oneof(fc.nat(300), fc.nat(70_000), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  ),
  { maxLength: 60 },
);

describe("a column", () => {
  it.each([
    ["of words", () => new Column()],
    ["that begins with bytes", () => new NarrowColumn(1)],
    ["that begins with halves", () => new NarrowColumn(2)],
  ])("%s has what was written last, and zeros elsewhere", (_name, make) => {
    fc.assert(
      fc.property(anyWrites, fc.array(fc.nat(140_000), { maxLength: 20 }), (writes, others) => {
        const column = make();
        const expected = new Map<number, number>();
        for (const [row, value] of writes) {
          column.set(row, value);
          expected.set(row, value);
          expect(column.get(row)).toBe(value);
        }
        for (const [row, value] of expected) expect(column.get(row)).toBe(value);
        for (const row of others) expect(column.get(row)).toBe(expected.get(row) ?? 0);
        column.release();
        for (const row of expected.keys()) expect(column.get(row)).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a set of integers as bits", () => {
  it("numbers its members in ascending order, however it was filled", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(5000)), (members) => {
        const sorted = members.toSorted((a, b) => a - b);
        const set = new RankedBits();
        for (const member of members) set.set(member);
        set.rankAll();
        const pushed = new RankedBits();
        for (let index = 0; index <= (sorted.at(-1) ?? 0); index++) pushed.push(members.includes(index));
        for (const bits of [set, pushed]) {
          const seen: number[] = [];
          bits.forEach((index) => {
            seen.push(index);
          });
          expect(seen).toEqual(sorted);
          expect(bits.count).toBe(sorted.length);
          expect(sorted.map((member) => bits.rankOf(member))).toEqual([...sorted.keys()]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
