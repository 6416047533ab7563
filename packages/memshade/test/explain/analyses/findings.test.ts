import { describe, expect, it } from "vitest";
import { leaks, liveAtPeak } from "../../../src/explain/analyses/heap.ts";
import { temporaryBlocks } from "../../../src/explain/analyses/temporary.ts";
import { neverAccessed, writtenNeverRead } from "../../../src/explain/analyses/unused-blocks.ts";
import { heapProfileFromRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { blockMib, mergeMib } from "../../../src/profile/model/mib.ts";
import { profileOfPicture, rawProfileOfPicture } from "../../heap-picture.ts";

const picture = `
  main > parse    10 x 64    access 3  live 2  unread 4
  main > cache     2 x 4096  access 9  peak 2
  main > table     3 x 100   unused 3  live 1
`;

describe("blocks that an analysis picks out", () => {
  const profile = profileOfPicture(picture);

  it("leaks are the blocks live at the end", () => {
    expect(leaks(profile)).toEqual({
      blocks: Float64Array.of(2, 0, 1),
      bytes: Float64Array.of(128, 0, 100),
      totalBlocks: 3,
      totalBytes: 228,
      isLowerBound: false,
    });
  });

  it("the owners of the peak are the blocks live then", () => {
    expect(liveAtPeak(profile)).toMatchObject({ totalBlocks: 2, totalBytes: 8192 });
  });

  it("never accessed and written but never read come from the run's own counts", () => {
    expect(neverAccessed(profile)).toMatchObject({ totalBlocks: 3, totalBytes: 300, isLowerBound: false });
    expect(writtenNeverRead(profile)).toMatchObject({ totalBlocks: 4, totalBytes: 256 });
  });

  it("a raw file alone tells only contexts without any access, and neither leaks nor reads", () => {
    const raw = rawProfileOfPicture(picture);
    expect(neverAccessed(raw)).toMatchObject({ totalBlocks: 3, totalBytes: 300, isLowerBound: true });
    expect([leaks(raw), liveAtPeak(raw), writtenNeverRead(raw)]).toEqual([undefined, undefined, undefined]);
  });
});

describe("temporary blocks", () => {
  function leastTemporary(...lifetimes: number[]): number {
    const mib = lifetimes
      .map((lifetime) =>
        blockMib({
          accessCount: 0n,
          size: 8,
          allocTimestamp: 0,
          deallocTimestamp: lifetime,
          allocCpuId: 0,
          deallocCpuId: 0,
        }),
      )
      .reduce(mergeMib);
    const raw = { version: 4 as const, segments: [], contexts: [{ stackId: 1n, mib, pcs: [] }] };
    return temporaryBlocks(heapProfileFromRaw(raw, undefined, () => () => []))!.totalBlocks;
  }

  it("are all blocks of a site where none lived longer than one allocation", () => {
    expect(leastTemporary(0, 1, 1)).toBe(3);
  });

  it("are as many as the sum of the lifetimes forces", () => {
    // One block lived 10 units; the other three have 1 unit in all, so none of them lived 2 or more.
    expect(leastTemporary(10, 1, 0, 0)).toBe(3);
    // 4 units remain for three blocks: two of them may have lived 2 units each.
    expect(leastTemporary(10, 2, 2, 0)).toBe(1);
    expect(leastTemporary(10, 4, 0, 0)).toBe(1);
    expect(leastTemporary(10, 9, 8)).toBe(0);
  });

  it("never more than there were", () => {
    for (const lifetimes of [[0, 5, 1], [2, 2, 2, 0], [1, 1, 7, 3], [100]])
      expect(leastTemporary(...lifetimes)).toBeLessThanOrEqual(lifetimes.filter((life) => life <= 1).length);
  });

  it("are not those that were still live at the end", () => {
    expect(temporaryBlocks(profileOfPicture("main > parse  5 x 8  life 1  live 2"))!.totalBlocks).toBe(3);
  });

  it("are exact where the run counted them itself", () => {
    const counted = profileOfPicture("main > parse  5 x 8  life 9  temporary 4");
    expect(temporaryBlocks(counted)).toMatchObject({ totalBlocks: 4, totalBytes: 32, isLowerBound: false });
  });
});
