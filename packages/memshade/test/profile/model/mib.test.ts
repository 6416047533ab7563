import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockMib, combineMibs, copyMib, type Mib, mergeMib } from "../../../src/profile/model/mib.ts";
import { MIB_FIELDS } from "../../../src/profile/model/mib-fields.ts";
import { arbitraryBlock, arbitraryMib, mibOfBlocks } from "./arbitrary.ts";

const block = {
  accessCount: 1001n,
  size: 8000,
  allocTimestamp: 546,
  deallocTimestamp: 546,
  allocCpuId: 1,
  deallocCpuId: 1,
};

describe("the MIB of one block", () => {
  it("is what MemProf's runtime recorded for the same block", () => {
    expect(blockMib(block)).toEqual({
      allocCount: 1,
      totalAccessCount: 1001n,
      minAccessCount: 1001n,
      maxAccessCount: 1001n,
      totalSize: 8000n,
      minSize: 8000,
      maxSize: 8000,
      allocTimestamp: 546,
      deallocTimestamp: 546,
      totalLifetime: 0n,
      minLifetime: 0,
      maxLifetime: 0,
      allocCpuId: 1,
      deallocCpuId: 1,
      numMigratedCpu: 0,
      numLifetimeOverlaps: 0,
      numSameAllocCpu: 0,
      numSameDeallocCpu: 0,
      dataTypeId: 0n,
      totalAccessDensity: 12n,
      minAccessDensity: 12,
      maxAccessDensity: 12,
      totalLifetimeAccessDensity: 12000n,
      minLifetimeAccessDensity: 12000,
      maxLifetimeAccessDensity: 12000,
      accessHistogramSize: 0,
      accessHistogram: 0n,
    });
  });

  it("divides densities by the size, then by the lifetime, rounding down each time", () => {
    // 10 · 100 / 3 = 333; 333 · 1000 / 7 = 47571
    const mib = blockMib({ ...block, accessCount: 10n, size: 3, allocTimestamp: 5, deallocTimestamp: 12 });
    expect(mib).toMatchObject({
      totalLifetime: 7n,
      minLifetime: 7,
      maxLifetime: 7,
      totalAccessDensity: 333n,
      totalLifetimeAccessDensity: 47571n,
    });
  });

  it("counts a block freed on another CPU as migrated", () => {
    expect(blockMib({ ...block, deallocCpuId: 2 })).toMatchObject({ numMigratedCpu: 1, deallocCpuId: 2 });
  });

  it("records a request of 0 bytes as 1 byte", () => {
    expect(blockMib({ ...block, size: 0, accessCount: 2n })).toMatchObject({
      totalSize: 1n,
      minSize: 1,
      totalAccessDensity: 200n,
    });
  });

  it("keeps the low 32 bits of a size, of both times and of the lifetime", () => {
    expect(blockMib({ ...block, size: 2 ** 32 + 40 })).toMatchObject({ totalSize: 40n, maxSize: 40 });
    expect(blockMib({ ...block, size: 2 ** 33 }).totalSize).toBe(0n);
    const wrapped = blockMib({ ...block, allocTimestamp: 0xffff_fff0, deallocTimestamp: 2 ** 32 + 4 });
    expect(wrapped).toMatchObject({
      deallocTimestamp: 4,
      totalLifetime: 20n,
      minLifetime: 20,
      maxLifetime: 20,
    });
  });

  it("keeps densities whole in the totals and truncates them to 32 bits in the extremes", () => {
    // 2^32 + 7 accesses to 100 bytes in a lifetime of 0: density 2^32 + 7, per second 1000 times that.
    const mib = blockMib({ ...block, accessCount: 2n ** 32n + 7n, size: 100 });
    expect(mib).toMatchObject({
      totalAccessDensity: 4294967303n,
      minAccessDensity: 7,
      maxAccessDensity: 7,
      totalLifetimeAccessDensity: 4294967303000n,
      minLifetimeAccessDensity: 7000,
      maxLifetimeAccessDensity: 7000,
    });
  });

  it("wraps the products of densities at 64 bits", () => {
    const mib = blockMib({ ...block, accessCount: 2n ** 63n + 1n, size: 10 });
    expect(mib.totalAccessCount).toBe(2n ** 63n + 1n);
    expect(mib.totalAccessDensity).toBe(10n); // (2^63 + 1) · 100 is 100 modulo 2^64
    const second = blockMib({ ...block, accessCount: 2n ** 57n, size: 1 });
    expect(second.totalAccessDensity).toBe((2n ** 57n * 100n) % 2n ** 64n);
    expect(second.totalLifetimeAccessDensity).toBe((second.totalAccessDensity * 1000n) % 2n ** 64n);
  });

  it("takes a histogram over and says how long it is", () => {
    const histogram = [3n, 0n, 5n];
    const mib = blockMib({ ...block, size: 24, histogram });
    expect(mib).toMatchObject({ accessHistogramSize: 3, histogram: [3n, 0n, 5n] });
    expect(mib.histogram).not.toBe(histogram);
  });
});

// A pair in which every field differs and every rule matters. `first` was freed at 30 on CPU 2; `later` was allocated at 20, before that,
// on the same CPU and freed on the same CPU.
const first: Mib = {
  allocCount: 2,
  totalAccessCount: 40n,
  minAccessCount: 15n,
  maxAccessCount: 25n,
  totalSize: 48n,
  minSize: 16,
  maxSize: 32,
  allocTimestamp: 10,
  deallocTimestamp: 30,
  totalLifetime: 31n,
  minLifetime: 11,
  maxLifetime: 20,
  allocCpuId: 1,
  deallocCpuId: 2,
  numMigratedCpu: 1,
  numLifetimeOverlaps: 5,
  numSameAllocCpu: 6,
  numSameDeallocCpu: 7,
  dataTypeId: 77n,
  totalAccessDensity: 170n,
  minAccessDensity: 80,
  maxAccessDensity: 90,
  totalLifetimeAccessDensity: 9000n,
  minLifetimeAccessDensity: 4000,
  maxLifetimeAccessDensity: 5000,
  accessHistogramSize: 2,
  accessHistogram: 1n,
  histogram: [15n, 25n],
};
const later: Mib = {
  allocCount: 3,
  totalAccessCount: 100n,
  minAccessCount: 10n,
  maxAccessCount: 70n,
  totalSize: 90n,
  minSize: 20,
  maxSize: 40,
  allocTimestamp: 20,
  deallocTimestamp: 50,
  totalLifetime: 60n,
  minLifetime: 5,
  maxLifetime: 30,
  allocCpuId: 1,
  deallocCpuId: 2,
  numMigratedCpu: 2,
  numLifetimeOverlaps: 10,
  numSameAllocCpu: 20,
  numSameDeallocCpu: 30,
  dataTypeId: 88n,
  totalAccessDensity: 330n,
  minAccessDensity: 85,
  maxAccessDensity: 150,
  totalLifetimeAccessDensity: 11000n,
  minLifetimeAccessDensity: 3000,
  maxLifetimeAccessDensity: 4500,
  accessHistogramSize: 3,
  accessHistogram: 2n,
  histogram: [10n, 20n, 70n],
};
/** Fields that merging and combining compute in the same way. */
const totalsAndExtremes = {
  allocCount: 5,
  totalAccessCount: 140n,
  minAccessCount: 10n,
  maxAccessCount: 70n,
  totalSize: 138n,
  minSize: 16,
  maxSize: 40,
  allocTimestamp: 20,
  deallocTimestamp: 50,
  totalLifetime: 91n,
  minLifetime: 5,
  maxLifetime: 30,
  allocCpuId: 1,
  deallocCpuId: 2,
  dataTypeId: 77n,
  totalAccessDensity: 500n,
  minAccessDensity: 80,
  maxAccessDensity: 150,
  totalLifetimeAccessDensity: 20000n,
  minLifetimeAccessDensity: 3000,
  maxLifetimeAccessDensity: 5000,
  accessHistogramSize: 3,
  histogram: [25n, 45n, 70n],
};

describe("merging one more block into a context", () => {
  it("follows MemProf's rule in every field", () => {
    expect(mergeMib(copyMib(first), later)).toEqual({
      ...totalsAndExtremes,
      numMigratedCpu: 1,
      numLifetimeOverlaps: 6,
      numSameAllocCpu: 7,
      numSameDeallocCpu: 8,
      accessHistogram: 1n,
    });
  });

  it("counts no overlap for a block allocated at the moment the previous one was freed", () => {
    const touching = mergeMib(copyMib(first), { ...later, allocTimestamp: 30 });
    expect(touching.numLifetimeOverlaps).toBe(5);
  });

  it("counts no same CPU where allocation or deallocation moved", () => {
    const moved = mergeMib(copyMib(first), { ...later, allocCpuId: 9, deallocCpuId: 8 });
    expect(moved).toMatchObject({ numSameAllocCpu: 6, numSameDeallocCpu: 7, allocCpuId: 9, deallocCpuId: 8 });
  });

  it("compares with the block merged just before, not with the first one", () => {
    // Lifetimes 0–100, 10–20, 30–40: the second overlaps the first; the third comes after the second.
    const mib = mibOfBlocks(
      { ...block, allocTimestamp: 0, deallocTimestamp: 100 },
      { ...block, allocTimestamp: 10, deallocTimestamp: 20 },
      { ...block, allocTimestamp: 30, deallocTimestamp: 40 },
    );
    expect(mib).toMatchObject({
      allocCount: 3,
      numLifetimeOverlaps: 1,
      allocTimestamp: 30,
      deallocTimestamp: 40,
    });
  });

  it("keeps the longer histogram, whichever side it is on, and leaves the argument alone", () => {
    const long = copyMib(later);
    expect(mergeMib(copyMib(long), first).histogram).toEqual([25n, 45n, 70n]);
    const { histogram: _, ...withoutHistogram } = { ...first, accessHistogramSize: 0 };
    const merged = mergeMib(withoutHistogram, long);
    expect(merged).toMatchObject({ histogram: [10n, 20n, 70n], accessHistogramSize: 3 });
    mergeMib(merged, first);
    expect(long.histogram).toEqual([10n, 20n, 70n]);
  });

  it("wraps every sum at its field's width", () => {
    for (const { name, bytes } of MIB_FIELDS.filter(
      ({ name }) => /^total|Count$/.test(name) && !/min|max/.test(name),
    )) {
      const largest = bytes === 4 ? 0xffff_ffff : 2n ** 64n - 1n;
      const two = bytes === 4 ? 2 : 2n;
      const sum = mergeMib({ ...copyMib(first), [name]: largest } as Mib, { ...later, [name]: two } as Mib);
      expect(sum[name], name).toBe(bytes === 4 ? 1 : 1n);
    }
    const counters = {
      numLifetimeOverlaps: 0xffff_ffff,
      numSameAllocCpu: 0xffff_ffff,
      numSameDeallocCpu: 0xffff_ffff,
    };
    expect(mergeMib({ ...copyMib(first), ...counters }, later)).toMatchObject({
      numLifetimeOverlaps: 0,
      numSameAllocCpu: 0,
      numSameDeallocCpu: 0,
    });
  });

  it("adds up to the blocks, whatever they are", () => {
    fc.assert(
      fc.property(fc.array(arbitraryBlock, { minLength: 1, maxLength: 8 }), (blocks) => {
        const mib = mibOfBlocks(blocks[0]!, ...blocks.slice(1));
        const sizes = blocks.map(({ size }) => size || 1);
        expect(mib.allocCount).toBe(blocks.length);
        expect(mib.totalAccessCount).toBe(blocks.reduce((sum, { accessCount }) => sum + accessCount, 0n));
        expect(mib.totalSize).toBe(BigInt(sizes.reduce((sum, size) => sum + size, 0)));
        expect([mib.minSize, mib.maxSize]).toEqual([Math.min(...sizes), Math.max(...sizes)]);
        expect(mib.numSameAllocCpu).toBe(
          blocks.filter(({ allocCpuId }, index) => index > 0 && allocCpuId === blocks[index - 1]!.allocCpuId)
            .length,
        );
        expect(mib.allocTimestamp).toBe(blocks.at(-1)!.allocTimestamp);
      }),
    );
  });
});

describe("combining contexts of different processes", () => {
  it("adds the overlap, same-CPU and migration counters and changes neither argument", () => {
    const [a, b] = [copyMib(first), copyMib(later)];
    expect(combineMibs(a, b)).toEqual({
      ...totalsAndExtremes,
      numMigratedCpu: 3,
      numLifetimeOverlaps: 15,
      numSameAllocCpu: 26,
      numSameDeallocCpu: 37,
      accessHistogram: 0n,
    });
    expect([a, b]).toEqual([first, later]);
  });

  it("is associative", () => {
    fc.assert(
      fc.property(arbitraryMib, arbitraryMib, arbitraryMib, (a, b, c) => {
        expect(combineMibs(combineMibs(a, b), c)).toEqual(combineMibs(a, combineMibs(b, c)));
      }),
    );
  });

  it("is commutative but for the fields that tell of the last block", () => {
    const last = { allocTimestamp: 0, deallocTimestamp: 0, allocCpuId: 0, deallocCpuId: 0, dataTypeId: 0n };
    fc.assert(
      fc.property(arbitraryMib, arbitraryMib, (a, b) => {
        expect({ ...combineMibs(a, b), ...last }).toEqual({ ...combineMibs(b, a), ...last });
      }),
    );
  });
});
