import { describe, expect, it } from "vitest";
import { divided, marginOf, withEstimatedCallers } from "../../src/analyses/host-stacks.ts";
import type { HeapProfile, ResolvedFrame } from "../../src/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../src/model/heap-profile-builder.ts";
import { blockMib, combineMibs, type Mib } from "../../src/model/mib.ts";
import type { RunSite } from "../../src/model/run.ts";
import { framesOfContext } from "../../src/model/stacks.ts";

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
  size: number;
  live?: number;
  stage?: number;
  entries?: number;
}

function mibOf(blocks: number, size: number): Mib {
  const block = blockMib({
    accessCount: 1n,
    size,
    allocTimestamp: 0,
    deallocTimestamp: 2,
    allocCpuId: 0,
    deallocCpuId: 0,
  });
  return Array.from({ length: blocks }, () => block).reduce(combineMibs);
}

function profileOf(...given: Given[]): HeapProfile {
  const modules = [{ name: "a.wasm", buildId: "", start: 0n, end: 1000n }];
  const builder = new HeapProfileBuilder(
    { clock: { kind: "virtual", unit: "allocations" }, granuleBytes: 8, rawVersion: 4, notTracked: [] },
    modules,
  );
  given.forEach(({ path, blocks, size, live = 0, stage, entries }, index) => {
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
    };
    builder.addContext(stackId, path, mibOf(blocks, size), site);
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

describe("calls that nobody asked for their callers", () => {
  it("have those that the asked ones of their path and stage have, in proportion", () => {
    const path = [wasm("push")];
    const profile = withEstimatedCallers(
      profileOf(
        // At the first stage all were asked: they say nothing of later ones.
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
      // Live blocks are spread as live blocks were found.
      { path: ["push", "seldom"], blocks: 10, live: 3, isEstimated: true },
      { path: ["push", "often"], blocks: 30, live: 0, isEstimated: true },
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
    const sums = ({ contexts: { mibs, site } }: HeapProfile) => [
      mibs.allocCount.reduce((a, b) => a + b),
      mibs.totalSize.reduce((a, b) => a + b),
      mibs.totalLifetime.reduce((a, b) => a + b),
      site!.liveBytes.reduce((a, b) => a + b),
      site!.granules.reduce((a, b) => a + b),
    ];
    expect(sums(after)).toEqual(sums(before));
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
    // 6 of 8 blocks, so 3/4 of 320 bytes are those of one; the variance of such a part in a sample of 8 is 3/4 · 1/4 / 8.
    const margin = 2 * 320 * Math.sqrt((0.75 * 0.25) / 8);
    expect(marginsOf(undefined)).toEqual([expect.closeTo(margin), expect.closeTo(margin)]);
    // Blocks of one call come together: so there were fewer calls than blocks.
    expect(marginsOf(2)[0]).toBeGreaterThan(1.2 * margin);
  });

  it("are parts of a whole that no rounding changes", () => {
    expect(divided(10n, [1n, 1n, 1n], [])).toEqual([4n, 3n, 3n]);
    expect(divided(5n, [0n, 0n], [1n, 4n])).toEqual([1n, 4n]);
    expect(divided(1n, [0n, 0n], [0n, 0n])).toEqual([1n, 0n]);
    expect(divided(2n ** 62n + 1n, [1n, 3n], [])).toEqual([2n ** 60n, 3n * 2n ** 60n + 1n]);
  });
});
