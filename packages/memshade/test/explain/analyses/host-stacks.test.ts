import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divided, marginOf, withEstimatedCallers } from "../../../src/explain/analyses/host-stacks.ts";
import type { HeapProfile, ResolvedFrame } from "../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../src/profile/model/heap-profile-builder.ts";
import { blockMib, combineMibs, type Mib } from "../../../src/profile/model/mib.ts";
import type { RunSite } from "../../../src/profile/model/run.ts";
import { framesOfContext } from "../../../src/profile/model/stacks.ts";

const wasm = (name: string): ResolvedFrame => ({
  module: 0 as never,
  wasmIndex: 1,
  name,
  offset: name.length,
});
const script = (name: string): ResolvedFrame => ({
  name,
  offset: 0,
  file: "app.js",
  line: 1,
  host: "script",
});
const LEFT_OUT: ResolvedFrame = { name: "[callers not asked]", offset: 0, host: "left-out" };

interface Given {
  path: ResolvedFrame[];
  blocks: number;
  /** Size of each block, or of the block with this number. */
  size: number | ((block: number) => number);
  live?: number;
  stage?: number;
  entries?: number;
  /** Replaces the figures that follow from the number of live blocks. */
  site?: Partial<RunSite>;
}

function mibOf(blocks: number, size: (block: number) => number): Mib {
  const block = (number: number) =>
    blockMib({
      accessCount: 1n,
      size: size(number),
      allocTimestamp: 0,
      deallocTimestamp: 2,
      allocCpuId: 0,
      deallocCpuId: 0,
    });
  return Array.from({ length: blocks }, (_, number) => block(number)).reduce(combineMibs);
}

function profileOf(...given: Given[]): HeapProfile {
  const modules = [{ name: "a.wasm", buildId: "", start: 0n, end: 1000n }];
  const builder = new HeapProfileBuilder(
    { clock: { kind: "virtual", unit: "allocations" }, granuleBytes: 8, rawVersion: 4, notTracked: [] },
    modules,
  );
  given.forEach(({ path, blocks, size: given, live = 0, stage, entries, site: further }, index) => {
    const sizeOf = typeof given === "number" ? () => given : given;
    const size = sizeOf(0);
    const stackId = BigInt(index + 1);
    const site: RunSite = {
      stackId: `${stackId}`,
      liveBytes: live * size,
      liveBlocks: live,
      peakBytes: live * size,
      peakBlocks: live,
      neverAccessed: 0,
      neverAccessedBytes: 0,
      writtenNeverRead: 0,
      writtenNeverReadBytes: 0,
      granulesTouched: blocks,
      granules: blocks,
      reallocations: 0,
      temporary: 0,
      ...(stage === undefined ? {} : { stage }),
      ...(entries === undefined ? {} : { entries }),
      ...further,
    };
    builder.addContext(stackId, path, mibOf(blocks, sizeOf), site);
  });
  return builder.build();
}

function rowsOf(profile: HeapProfile) {
  const { contexts, frames, functions, strings } = profile;
  return Array.from({ length: contexts.length }, (_, row) => ({
    path: framesOfContext(profile, row as never).map(
      (frame) => strings[functions.name[frames.function[frame]!]!]!,
    ),
    blocks: contexts.mibs.allocCount[row],
    live: contexts.site!.liveBlocks[row],
    isEstimated: contexts.isEstimated?.[row] === 1,
  }));
}

function sumsOf({ contexts: { mibs, site } }: HeapProfile): Record<string, bigint> {
  const { allocCount, totalSize, totalLifetime, totalAccessCount } = mibs;
  const columns = { allocCount, totalSize, totalLifetime, totalAccessCount, ...site };
  return Object.fromEntries(
    Object.entries(columns).flatMap(([name, column]) =>
      column instanceof Float64Array || column instanceof BigUint64Array || column instanceof Uint32Array
        ? name === "entries"
          ? []
          : [[name, [...column].reduce<bigint>((sum, value) => sum + BigInt(value), 0n)]]
        : [],
    ),
  );
}

/** Blocks of two sizes, some live, at the peak, unused or lost, with their numbers. */
const CALLER = fc
  .record({
    sizes: fc.tuple(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 99 })),
    blocks: fc.integer({ min: 1, max: 40 }),
    stage: fc.constantFrom(0, 1, 2),
    parts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
  })
  .map(({ sizes, blocks, stage, parts }): Omit<Given, "path"> => {
    const [live, peak, lost, unused, unread, large] = parts as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const size = (block: number): number => sizes[block < large * blocks ? 1 : 0];
    const bytesOf = (from: number, to: number): number => {
      let sum = 0;
      for (let block = from; block < to; block++) sum += size(block);
      return sum;
    };
    const liveBlocks = Math.round(live * blocks);
    const lostBlocks = Math.round(lost * liveBlocks);
    const peakFrom = Math.round(peak * (blocks - 1));
    const neverAccessed = Math.round(unused * blocks);
    const writtenNeverRead = Math.round(unread * (blocks - neverAccessed));
    return {
      blocks,
      size,
      stage,
      site: {
        liveBlocks,
        liveBytes: bytesOf(0, liveBlocks),
        lostBlocks,
        lostBytes: bytesOf(0, lostBlocks),
        stillReachableBlocks: liveBlocks - lostBlocks,
        stillReachableBytes: bytesOf(lostBlocks, liveBlocks),
        peakBlocks: blocks - peakFrom,
        peakBytes: bytesOf(peakFrom, blocks),
        neverAccessed,
        neverAccessedBytes: bytesOf(0, neverAccessed),
        writtenNeverRead,
        writtenNeverReadBytes: bytesOf(neverAccessed, neverAccessed + writtenNeverRead),
      },
    };
  });

describe("calls that nobody asked for their callers", () => {
  it("have those that the asked ones of their path and stage have, in proportion", () => {
    const path = [wasm("push")];
    const profile = withEstimatedCallers(
      profileOf(
        // All calls were sampled in the first stage, which is no evidence for later stages.
        { path: [...path, script("start")], blocks: 30, size: 8 },
        { path: [...path, script("often")], blocks: 6, size: 8, stage: 1 },
        { path: [...path, script("seldom")], blocks: 2, size: 8, live: 1, stage: 1 },
        { path: [...path, LEFT_OUT], blocks: 40, size: 8, live: 3, stage: 1 },
      ),
    );
    expect(rowsOf(profile)).toEqual([
      { path: ["push", "start"], blocks: 30, live: 0, isEstimated: false },
      { path: ["push", "often"], blocks: 6, live: 0, isEstimated: false },
      { path: ["push", "seldom"], blocks: 2, live: 1, isEstimated: false },
      // The three live blocks are spread like the sampled live ones, and the other 37 in the ratio 6 to 1.
      { path: ["push", "seldom"], blocks: 8, live: 3, isEstimated: true },
      { path: ["push", "often"], blocks: 32, live: 0, isEstimated: true },
    ]);
  });

  it("have what is live as it was found in any stage, where it was not in their own", () => {
    const path = [wasm("push")];
    const profile = withEstimatedCallers(
      profileOf(
        { path: [...path, script("keeps")], blocks: 4, size: 8, live: 4 },
        { path: [...path, script("frees")], blocks: 9, size: 8, stage: 1 },
        { path: [...path, LEFT_OUT], blocks: 20, size: 8, live: 3, stage: 1 },
      ),
    );
    expect(rowsOf(profile).slice(2)).toEqual([
      { path: ["push", "keeps"], blocks: 3, live: 3, isEstimated: true },
      { path: ["push", "frees"], blocks: 17, live: 0, isEstimated: true },
    ]);
  });

  it("have those of other stages where none of theirs was asked, and none where nobody was", () => {
    const profile = withEstimatedCallers(
      profileOf(
        { path: [wasm("push"), script("known")], blocks: 2, size: 8 },
        { path: [wasm("push"), LEFT_OUT], blocks: 5, size: 8, stage: 2 },
        { path: [wasm("pop"), LEFT_OUT], blocks: 7, size: 8, stage: 2 },
      ),
    );
    expect(rowsOf(profile)).toEqual([
      { path: ["push", "known"], blocks: 2, live: 0, isEstimated: false },
      { path: ["push", "known"], blocks: 5, live: 0, isEstimated: true },
      { path: ["pop", "[callers not asked]"], blocks: 7, live: 0, isEstimated: false },
    ]);
  });

  it("keep what is further out on their own path", () => {
    const profile = withEstimatedCallers(
      profileOf(
        { path: [wasm("push"), script("callback"), wasm("sort"), script("a")], blocks: 1, size: 8, stage: 1 },
        { path: [wasm("push"), LEFT_OUT, wasm("map"), script("b")], blocks: 3, size: 8, stage: 1 },
      ),
    );
    expect(rowsOf(profile).map(({ path, blocks }) => [path.join(" < "), blocks])).toEqual([
      ["push < callback < sort < a", 1],
      ["push < callback < map < b", 3],
    ]);
  });

  it("leave all sums as they are", () => {
    const before = profileOf(
      { path: [wasm("push"), script("a")], blocks: 3, size: 16, stage: 1 },
      { path: [wasm("push"), script("b")], blocks: 4, size: 24, stage: 1 },
      { path: [wasm("push"), LEFT_OUT], blocks: 11, size: 1000, live: 5, stage: 1 },
    );
    const after = withEstimatedCallers(before);
    expect(sumsOf(after)).toEqual(sumsOf(before));
  });

  it("have callers that contradict neither themselves nor the site, whatever the sample is", () => {
    fc.assert(
      fc.property(fc.array(CALLER, { minLength: 1, maxLength: 6 }), CALLER, (callers, leftOut) => {
        const path = [wasm("push")];
        const before = profileOf(
          ...callers.map((one, i) => ({ ...one, path: [...path, script(`caller${i % 4}`)] })),
          { ...leftOut, path: [...path, LEFT_OUT], stage: 1 },
        );
        const after = withEstimatedCallers(before);
        const { mibs, site } = after.contexts;
        for (let row = 0; row < after.contexts.length; row++) {
          const at = (field: keyof RunSite) => (site as unknown as Record<string, number[]>)[field]![row]!;
          const [blocks, bytes] = [mibs.allocCount[row]!, Number(mibs.totalSize[row]!)];
          expect(Math.max(at("liveBlocks"), at("peakBlocks"))).toBeLessThanOrEqual(blocks);
          expect(at("neverAccessed") + at("writtenNeverRead")).toBeLessThanOrEqual(blocks);
          expect(Math.max(at("liveBytes"), at("peakBytes"))).toBeLessThanOrEqual(bytes);
          expect(at("neverAccessedBytes") + at("writtenNeverReadBytes")).toBeLessThanOrEqual(bytes);
          expect(at("granulesTouched")).toBeLessThanOrEqual(at("granules"));
          expect(at("stillReachableBlocks") + at("lostBlocks")).toBe(at("liveBlocks"));
          expect(at("stillReachableBytes") + at("lostBytes")).toBe(at("liveBytes"));
          // No block is smaller or larger than any of the divided blocks.
          const [least, most] = [mibs.minSize[row]!, mibs.maxSize[row]!];
          for (const [sum, count] of [
            [bytes, blocks],
            [at("liveBytes"), at("liveBlocks")],
          ] as const) {
            expect(sum).toBeGreaterThanOrEqual(least * count);
            expect(sum).toBeLessThanOrEqual(most * count);
          }
        }
        expect(sumsOf(after)).toEqual(sumsOf(before));
      }),
    );
  });

  it("are counted no worse than told: each number of blocks has its margin as bytes have", () => {
    const path = [wasm("push")];
    const profile = withEstimatedCallers(
      profileOf(
        { path: [...path, script("often")], blocks: 6, size: 8, live: 3, stage: 1 },
        { path: [...path, script("seldom")], blocks: 2, size: 8, live: 1, stage: 1 },
        { path: [...path, LEFT_OUT], blocks: 40, size: 8, live: 8, stage: 1 },
      ),
    );
    const { mibs, site } = profile.contexts;
    const ofBlocks = marginOf(profile, mibs.allocCount, [3])!;
    expect(ofBlocks).toBeCloseTo(2 * 40 * Math.sqrt((0.75 * 0.25) / 8));
    expect(marginOf(profile, mibs.totalSize, [3])).toBeCloseTo(8 * ofBlocks);
    expect(marginOf(profile, site!.liveBlocks, [3])).toBeGreaterThan(0);
    expect(marginOf(profile, site!.liveBlocks, [0, 1])).toBeUndefined();
  });

  it("are off together where one call makes blocks on several paths", () => {
    const path = (name: string, caller: ResolvedFrame) => [wasm(name), caller];
    const profile = withEstimatedCallers(
      profileOf(
        ...["push", "reserve"].flatMap((name) => [
          { path: path(name, script("often")), blocks: 6, size: 8, stage: 1 },
          { path: path(name, script("seldom")), blocks: 2, size: 8, stage: 1 },
          { path: path(name, LEFT_OUT), blocks: 40, size: 8, stage: 1 },
        ]),
      ),
    );
    const rows = rowsOf(profile).flatMap(({ path: [, caller], isEstimated }, row) =>
      isEstimated && caller === "often" ? [row] : [],
    );
    const { totalSize } = profile.contexts.mibs;
    expect(rows).toHaveLength(2);
    expect(marginOf(profile, totalSize, rows)).toBeCloseTo(2 * marginOf(profile, totalSize, [rows[0]!])!);
  });

  it("may be off by as much as a sample of so many calls is", () => {
    const path = [wasm("push")];
    const marginsOf = (entries: number | undefined) => {
      const profile = withEstimatedCallers(
        profileOf(
          { path: [...path, script("often")], blocks: 6, size: 8, stage: 1, ...(entries && { entries }) },
          { path: [...path, script("seldom")], blocks: 2, size: 8, stage: 1 },
          { path: [...path, LEFT_OUT], blocks: 40, size: 8, stage: 1 },
        ),
      );
      const { totalSize } = profile.contexts.mibs;
      expect(marginOf(profile, totalSize, [0, 1])).toBeUndefined();
      return [2, 3].map((row) => marginOf(profile, totalSize, [row])!);
    };
    // 6 of 8 sampled blocks give one caller 3/4 of 320 bytes; the variance of such a share in a sample of 8 is 3/4 · 1/4 / 8.
    const margin = 2 * 320 * Math.sqrt((0.75 * 0.25) / 8);
    expect(marginsOf(undefined)).toEqual([expect.closeTo(margin), expect.closeTo(margin)]);
    // Blocks of one call come together, so there were fewer calls than blocks.
    expect(marginsOf(2)[0]).toBeGreaterThan(1.2 * margin);
  });

  it("are parts of a whole that no rounding changes", () => {
    expect(divided(10n, [1n, 1n, 1n], [])).toEqual([4n, 3n, 3n]);
    expect(divided(5n, [0n, 0n], [1n, 4n])).toEqual([1n, 4n]);
    expect(divided(1n, [0n, 0n], [0n, 0n])).toEqual([1n, 0n]);
    expect(divided(2n ** 62n + 1n, [1n, 3n], [])).toEqual([2n ** 60n, 3n * 2n ** 60n + 1n]);
  });
});
