import fc from "fast-check";
import { type Block, blockMib, type Mib, mergeMib } from "../../../src/profile/model/mib.ts";
import { MIB_FIELDS } from "../../../src/profile/model/mib-fields.ts";

const u32 = fc.nat(0xffff_ffff);
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

/** Blocks of usual size, without a histogram. */
export const arbitraryBlock: fc.Arbitrary<Block> = fc.record({
  accessCount: fc.bigInt({ min: 0n, max: 1n << 40n }),
  size: fc.nat(1 << 20),
  allocTimestamp: fc.nat(1000),
  deallocTimestamp: fc.nat(1000),
  allocCpuId: fc.nat(3),
  deallocCpuId: fc.nat(3),
});

const histogram = fc.array(fc.bigInt({ min: 0n, max: 100_000n }), { maxLength: 5 });

/** Any field values, also impossible ones; with or without a histogram. */
export const arbitraryMib: fc.Arbitrary<Mib> = fc
  .tuple(
    fc.record(Object.fromEntries(MIB_FIELDS.map(({ name, bytes }) => [name, bytes === 4 ? u32 : u64]))),
    histogram,
  )
  .map(([fields, counts]) => ({
    ...(fields as unknown as Mib),
    accessHistogramSize: counts.length,
    accessHistogram: 0n,
    ...(counts.length > 0 ? { histogram: counts } : {}),
  }));

export function mibOfBlocks(first: Block, ...later: Block[]): Mib {
  return later.map(blockMib).reduce(mergeMib, blockMib(first));
}
