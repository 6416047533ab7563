import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coarser, lifetimeHistogram, sizeHistogram } from "../../../src/explain/analyses/block-histograms.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../src/profile/model/heap-profile-builder.ts";
import { blockMib, combineMibs } from "../../../src/profile/model/mib.ts";

/** A profile with one call path per list of blocks, each `[size, lifetime]`. */
function profileOf(paths: readonly (readonly (readonly [number, number])[])[]): HeapProfile {
  const builder = new HeapProfileBuilder(
    { clock: { kind: "wall", unit: "ms" }, granuleBytes: 8, rawVersion: 5, notTracked: [] },
    [],
  );
  for (const [index, blocks] of paths.entries()) {
    const mibs = blocks.map(([size, lifetime]) =>
      blockMib({
        accessCount: 0n,
        size,
        allocTimestamp: 0,
        deallocTimestamp: lifetime,
        allocCpuId: 0,
        deallocCpuId: 0,
      }),
    );
    builder.addContext(BigInt(index), [{ name: `f${index}`, offset: 0 }], mibs.reduce(combineMibs));
  }
  return builder.build();
}

describe("histograms of blocks", () => {
  it("count blocks by powers of two of their size, and of their lifetime", () => {
    const profile = profileOf([
      [
        [16, 0],
        [16, 0],
      ],
      [[17, 5]],
      [[100, 1]],
    ]);
    expect(sizeHistogram(profile)).toEqual({
      isExact: true,
      bins: [
        { from: 16, to: 31, blocks: 3, bytes: 49, paths: 2 },
        { from: 32, to: 63, blocks: 0, bytes: 0, paths: 0 },
        { from: 64, to: 127, blocks: 1, bytes: 100, paths: 1 },
      ],
    });
    expect(lifetimeHistogram(profile)!.bins.map(({ from, blocks }) => [from, blocks])).toEqual([
      [0, 2],
      [1, 1],
      [2, 0],
      [4, 1],
    ]);
  });

  it("say when they had to take the mean of a call path", () => {
    const profile = profileOf([
      [
        [8, 0],
        [100, 0],
      ],
    ]);
    expect(sizeHistogram(profile)).toEqual({
      isExact: false,
      bins: [{ from: 32, to: 63, blocks: 2, bytes: 108, paths: 1 }],
    });
    expect(lifetimeHistogram(profile)!.isExact).toBe(true);
  });

  it("lose no block and no byte, however coarse", () => {
    const block = fc.tuple(fc.integer({ min: 1, max: 1 << 20 }), fc.nat(1 << 20));
    fc.assert(
      fc.property(
        fc.array(fc.array(block, { minLength: 1, maxLength: 5 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (paths, most) => {
          const histogram = sizeHistogram(profileOf(paths))!;
          const { bins } = coarser(histogram, most);
          const blocks = paths.flat();
          expect(bins.length).toBeLessThanOrEqual(most);
          expect(bins.reduce((sum, bin) => sum + bin.blocks, 0)).toBe(blocks.length);
          expect(bins.reduce((sum, bin) => sum + bin.bytes, 0)).toBe(
            blocks.reduce((sum, [size]) => sum + size, 0),
          );
        },
      ),
    );
  });
});
