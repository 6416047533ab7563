import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PackedMibs } from "../../../../../src/profile/model/memprof/index.ts";
import {
  mergeInOrder,
  mibFromPacked,
  packMib,
} from "../../../../../src/profile/model/memprof/merge/block-merge.ts";
import { blockMib, type Mib } from "../../../../../src/profile/model/mib.ts";

const MIB_BYTES = 144;
const block = fc.record({
  accessCount: fc.bigInt({ min: 0n, max: 2n ** 60n }),
  size: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  allocTimestamp: fc.nat(1000),
  deallocTimestamp: fc.nat(1000),
  allocCpuId: fc.nat(2),
  deallocCpuId: fc.nat(2),
});

describe("packed blocks of one process", () => {
  it("are merged as objects are, row by row", () => {
    const entries = fc.array(fc.tuple(fc.nat(1500), block.map(blockMib)), { maxLength: 60 });
    fc.assert(
      fc.property(entries, (all) => {
        const packed = new PackedMibs();
        const byRow = new Map<number, Mib[]>();
        const view = new DataView(new ArrayBuffer(MIB_BYTES));
        for (const [row, mib] of all) {
          packMib(mib, view);
          packed.merge(row, view, 0, MIB_BYTES);
          byRow.set(row, [...(byRow.get(row) ?? []), mib]);
        }
        const found = new Map<number, Mib>();
        packed.forEach((row, page, at, present) => {
          found.set(row, mibFromPacked(page, at, present));
        });
        expect(found).toEqual(new Map(Array.from(byRow, ([row, mibs]) => [row, mergeInOrder(mibs)])));
      }),
    );
  });

  it("know the rows that are to come, and tell only those that came", () => {
    const packed = new PackedMibs();
    expect(packed.isEmpty).toBe(true);
    packed.expect(7);
    expect([packed.isEmpty, packed.has(7), packed.has(8)]).toEqual([false, true, false]);
    packed.forEach(() => {
      expect.unreachable();
    });
  });
});
