import { describe, expect, it } from "vitest";
import { ScriptedHeap } from "./support/scripted-heap.ts";

// Expected values are worked out by hand. The clock counts allocations: the first block is made at time 1.

const A = 1024;
const B = 2048;
const C = 4096;

describe("the figures of one block", () => {
  const heap = new ScriptedHeap();
  heap.malloc(A, 24);
  heap.store(A, 3);
  heap.load(A + 20, 2);
  heap.malloc(B, 8, "b");
  heap.malloc(B + 8, 8, "b");
  heap.free(A);
  const { mib } = heap.profiled.contexts()[0];

  it("AllocCount, and accesses in total, at least and at most", () => {
    expect(mib.allocCount).toBe(1);
    expect([mib.totalAccessCount, mib.minAccessCount, mib.maxAccessCount]).toEqual([5n, 5n, 5n]);
  });

  it("TotalSize, MinSize, MaxSize: what was asked for", () => {
    expect([mib.totalSize, mib.minSize, mib.maxSize]).toEqual([24n, 24, 24]);
  });

  it("AllocTimestamp, DeallocTimestamp and the lifetime between them", () => {
    expect([mib.allocTimestamp, mib.deallocTimestamp]).toEqual([1, 3]);
    expect([mib.totalLifetime, mib.minLifetime, mib.maxLifetime]).toEqual([2n, 2, 2]);
  });

  it("the CPU is the instance; nothing migrates", () => {
    expect([mib.allocCpuId, mib.deallocCpuId, mib.numMigratedCpu]).toEqual([0, 0, 0]);
  });

  it("a single block overlaps with none and has no predecessor", () => {
    expect([mib.numLifetimeOverlaps, mib.numSameAllocCpu, mib.numSameDeallocCpu]).toEqual([0, 0, 0]);
    expect(mib.dataTypeId).toBe(0n);
  });

  it("densities: accesses · 100 / size, and that · 1000 / lifetime, rounded down each time", () => {
    // 5 · 100 / 24 = 20.83…, 20 · 1000 / 2 = 10,000
    expect([mib.totalAccessDensity, mib.minAccessDensity, mib.maxAccessDensity]).toEqual([20n, 20, 20]);
    expect([
      mib.totalLifetimeAccessDensity,
      mib.minLifetimeAccessDensity,
      mib.maxLifetimeAccessDensity,
    ]).toEqual([10_000n, 10_000, 10_000]);
  });

  it("no histogram in merged mode", () => {
    expect([mib.accessHistogramSize, mib.accessHistogram, mib.histogram]).toEqual([0, 0n, undefined]);
  });
});

describe("several blocks of one context", () => {
  const heap = new ScriptedHeap();
  heap.malloc(A, 100); // 1
  heap.malloc(B, 7); // 2
  heap.store(A, 10);
  heap.free(A); // lives 1…2, density 10, per second 10,000
  heap.malloc(C, 1000); // 3
  heap.store(B, 7);
  heap.free(B); // lives 2…3, density 100, per second 100,000; made before A was freed? 2 < 2: no
  heap.malloc(A, 50); // 4
  heap.malloc(B, 3); // 5
  heap.free(C); // lives 3…5, not accessed; 3 < 3: no
  heap.store(B);
  heap.free(B); // lives 5…5, density 33, per second 33,000 (a lifetime of 0 counts as 1); 5 < 5: no
  heap.free(A); // lives 4…5, 4 < 5: overlaps with B's end
  const { mib, site } = heap.profiled.only();

  it("add up, with the smallest and the largest of each", () => {
    expect(mib.allocCount).toBe(5);
    expect([mib.totalAccessCount, mib.minAccessCount, mib.maxAccessCount]).toEqual([18n, 0n, 10n]);
    expect([mib.totalSize, mib.minSize, mib.maxSize]).toEqual([1160n, 3, 1000]);
    expect([mib.totalLifetime, mib.minLifetime, mib.maxLifetime]).toEqual([5n, 0, 2]);
    expect([mib.totalAccessDensity, mib.minAccessDensity, mib.maxAccessDensity]).toEqual([143n, 0, 100]);
    expect([
      mib.totalLifetimeAccessDensity,
      mib.minLifetimeAccessDensity,
      mib.maxLifetimeAccessDensity,
    ]).toEqual([143_000n, 0, 100_000]);
  });

  it("leave the last block's times and CPUs", () => {
    expect([mib.allocTimestamp, mib.deallocTimestamp, mib.allocCpuId, mib.deallocCpuId]).toEqual([
      4, 5, 0, 0,
    ]);
  });

  it("overlap when a block was made before the one freed last was freed", () => {
    expect(mib.numLifetimeOverlaps).toBe(1);
  });

  it("have all but the first block on the predecessor's CPU", () => {
    expect([mib.numSameAllocCpu, mib.numSameDeallocCpu]).toEqual([4, 4]);
  });

  it("are short-lived when at most one other block was made in their life", () => {
    expect(site.temporary).toBe(4);
  });
});

it("overlaps are counted by the order in which blocks end", () => {
  const heap = new ScriptedHeap();
  heap.malloc(A, 8); // 1
  heap.malloc(B, 8); // 2
  heap.malloc(C, 8); // 3
  heap.free(C);
  heap.free(B); // 2 < 3
  heap.free(A); // 1 < 3
  expect(heap.profiled.only().mib.numLifetimeOverlaps).toBe(2);

  const inOrder = new ScriptedHeap();
  for (let i = 0; i < 3; i++) {
    inOrder.malloc(A, 8);
    inOrder.free(A);
  }
  expect(inOrder.profiled.only().mib.numLifetimeOverlaps).toBe(0);
});

describe("densities", () => {
  it.each([
    [1, 3, 33, 33_000],
    [2, 3, 66, 66_000],
    [1, 101, 0, 0],
    [1, 100, 1, 1000],
    [7, 1, 700, 700_000],
  ])("of %i accesses to %i bytes round down to %i and %i", (accesses, size, density, perSecond) => {
    const heap = new ScriptedHeap();
    heap.malloc(A, size);
    heap.store(A, accesses);
    heap.free(A);
    const { mib } = heap.profiled.only();
    expect([mib.maxAccessDensity, mib.maxLifetimeAccessDensity]).toEqual([density, perSecond]);
  });

  it("divide by the lifetime after they were rounded", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 3);
    heap.store(A);
    for (let i = 0; i < 7; i++) heap.malloc(B + i * 16, 8, "b");
    heap.free(A);
    // 33 · 1000 / 7 = 4714.28…, though 100,000 / 3 / 7 is 4761.9…
    expect(heap.profiled.contexts()[0].mib.totalLifetimeAccessDensity).toBe(4714n);
  });

  it("are right for alike and for unlike blocks in any order", () => {
    const heap = new ScriptedHeap();
    const expected = [
      [3, 10],
      [3, 10],
      [3, 9],
      [4, 9],
      [3, 9],
      [3, 10],
    ].reduce((sum, [accesses, size]) => {
      heap.malloc(A, size);
      heap.store(A, accesses);
      heap.free(A);
      return sum + Math.floor((accesses * 100) / size);
    }, 0);
    expect(heap.profiled.only().mib.totalAccessDensity).toBe(BigInt(expected));
  });
});

describe("a block of no bytes", () => {
  it("counts as one of one byte", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 0);
    heap.store(A, 2);
    heap.free(A);
    const { mib, site } = heap.profiled.only();
    expect([mib.totalSize, mib.totalAccessCount, mib.totalAccessDensity, site.granules]).toEqual([
      1n,
      2n,
      200n,
      1,
    ]);
  });
});

describe("the granules of blocks", () => {
  it("are touched when one of their bytes is", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 41);
    heap.store(A + 7);
    heap.store(A + 16);
    heap.load(A + 23);
    heap.load(A + 40);
    expect(heap.profiled.only().site).toMatchObject({ granules: 6, granulesTouched: 3 });
    heap.free(A);
    expect(heap.profiled.only().site).toMatchObject({ granules: 6, granulesTouched: 3 });
  });

  it("are touched by bulk instructions and by loops, long ones and short ones", () => {
    for (const size of [64, 504, 512, 520, 528, 536, 584, 592, 648, 1000, 1096, 4096]) {
      const heap = new ScriptedHeap();
      heap.malloc(A, size);
      heap.fill(A, size);
      heap.malloc(C * 2, size, "b");
      heap.walk(C * 2, size);
      const live = heap.profiled
        .contexts()
        .map(({ site, mib }) => [site.granulesTouched, site.granules, Number(mib.totalAccessCount)]);
      expect(live).toEqual([
        [size / 8, size / 8, size / 8],
        [size / 8, size / 8, size / 4],
      ]);
      heap.free(A);
      heap.free(C * 2);
      const freed = heap.profiled
        .contexts()
        .map(({ site, mib }) => [site.granulesTouched, site.granules, Number(mib.totalAccessCount)]);
      expect(freed).toEqual(live);
    }
  });

  it("are all counted once in a block of any size, and those beside it not at all", () => {
    for (let size = 1; size <= 300; size++) {
      const heap = new ScriptedHeap();
      const granules = Math.ceil(size / 8);
      heap.malloc(A, size);
      heap.store(A - 8, 50);
      heap.store(A + granules * 8, 50);
      let accesses = 0;
      let touched = 0;
      // Every third granule has no accesses; the others differ in their counts.
      for (let granule = 0; granule < granules; granule++) {
        if ((granule + size) % 3 === 0) continue;
        heap.store(A + granule * 8, (granule % 4) + 1);
        accesses += (granule % 4) + 1;
        touched++;
      }
      heap.free(A);
      const { site, mib } = heap.profiled.only();
      expect([size, site.granulesTouched, Number(mib.totalAccessCount)]).toEqual([size, touched, accesses]);
      heap.malloc(A, size);
      heap.free(A);
      expect(Number(heap.profiled.only().mib.totalAccessCount)).toBe(accesses);
    }
  });

  it("begin untouched, whatever happened there before", () => {
    for (const touch of ["fill", "walk", "store"] as const) {
      const heap = new ScriptedHeap();
      heap[touch](A, touch === "store" ? 5 : 2048);
      heap.malloc(A, 2048, "b");
      heap.free(A);
      heap[touch](A, touch === "store" ? 5 : 2048);
      heap.malloc(A, 2048);
      const untouched = { granules: 256, granulesTouched: 0, neverAccessed: 1 };
      expect(
        heap.profiled.contexts().map(({ site }) => site),
        touch,
      ).toMatchObject([untouched, untouched]);
      heap.free(A);
      expect(
        heap.profiled.contexts().map(({ site }) => site),
        touch,
      ).toMatchObject([untouched, untouched]);
    }
  });

  it("of small blocks are the same live and freed when one loop runs through all of them", () => {
    const heap = new ScriptedHeap();
    for (let i = 0; i < 16; i++) heap.malloc(A + i * 128, 128);
    heap.walk(A, 2048);
    const { granulesTouched } = heap.profiled.only().site;
    for (let i = 0; i < 16; i++) heap.free(A + i * 128);
    expect(heap.profiled.only().site).toMatchObject({ granules: 256, granulesTouched });
    heap.malloc(A, 2048, "b");
    heap.free(A);
    expect(heap.profiled.contexts()[1].site).toMatchObject({ granulesTouched: 0 });
  });
});

describe("blocks that were", () => {
  it("never accessed, written and never read, read", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 10);
    heap.malloc(A + 64, 20);
    heap.malloc(A + 128, 30);
    heap.malloc(A + 256, 40);
    heap.store(A + 64);
    heap.load(A + 128);
    heap.store(A + 256);
    heap.load(A + 256 + 39);
    const figures = {
      neverAccessed: 1,
      neverAccessedBytes: 10,
      writtenNeverRead: 1,
      writtenNeverReadBytes: 20,
    };
    expect(heap.profiled.only().site).toMatchObject(figures);
    for (const at of [A, A + 64, A + 128, A + 256]) heap.free(at);
    expect(heap.profiled.only().site).toMatchObject(figures);
  });
});

describe("accesses that belong to no block", () => {
  it("before it was made, after it was freed and beside it", () => {
    const heap = new ScriptedHeap();
    heap.store(A, 3);
    heap.malloc(A, 16);
    heap.store(A - 1);
    heap.store(A + 16);
    heap.load(A + 15);
    heap.free(A);
    heap.load(A, 4);
    heap.malloc(A, 16);
    heap.free(A);
    heap.store(60_000, 2);
    expect(heap.profiled.only().mib).toMatchObject({ totalAccessCount: 1n, maxAccessCount: 1n });
    expect(heap.profiled.heap).toMatchObject({ heapAccesses: 1, otherAccesses: 3 + 1 + 1 + 4 + 2 });
  });
});

describe("figures of the peak", () => {
  it("are those of the moment at which most bytes were live, site by site", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 100, "a");
    heap.malloc(B, 50, "b"); // 150: a 100, b 50
    heap.free(A); // 50
    heap.malloc(C, 90, "c"); // 140
    heap.malloc(C + 256, 5, "b"); // 145
    expect(heap.profiled.heap).toMatchObject({
      peakBytes: 150,
      peakBlocks: 2,
      liveBytes: 145,
      liveBlocks: 3,
    });
    heap.malloc(C + 512, 10, "a"); // 155: a 10, b 55 in two, c 90
    heap.malloc(C + 1024, 1, "c");
    heap.free(C + 1024); // 156 was the peak: c 91 in two
    heap.free(C);
    heap.free(B);
    heap.malloc(A, 100, "d"); // 115
    expect(heap.profiled.heap).toMatchObject({
      peakBytes: 156,
      peakBlocks: 5,
      liveBytes: 115,
      liveBlocks: 3,
    });
    const peaks = heap.profiled
      .contexts()
      .map(({ stack, site }) => [stack[0], site.peakBytes, site.peakBlocks, site.liveBytes, site.liveBlocks]);
    expect(peaks).toEqual([
      ["malloc_a", 10, 1, 10, 1],
      ["malloc_b", 55, 2, 5, 1],
      ["malloc_c", 91, 2, 0, 0],
      ["malloc_d", 0, 0, 100, 1],
    ]);
  });

  it("belong to the first moment when there are several as high", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 100, "a");
    heap.free(A);
    heap.malloc(A, 100, "b");
    expect(heap.profiled.contexts().map(({ site }) => site.peakBytes)).toEqual([100, 0]);
  });
});

describe("blocks that are live when the profile is taken", () => {
  it("count as if they ended now, and end again later", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 40);
    heap.store(A, 4);
    heap.malloc(B, 8, "b");
    expect(heap.profiled.contexts()[0].mib).toMatchObject({
      allocCount: 1,
      totalAccessCount: 4n,
      deallocTimestamp: 2,
      totalLifetime: 1n,
    });
    heap.malloc(C, 8, "b");
    heap.load(A);
    heap.free(A);
    expect(heap.profiled.contexts()[0].mib).toMatchObject({
      allocCount: 1,
      totalAccessCount: 5n,
      deallocTimestamp: 3,
      totalLifetime: 2n,
    });
    expect(heap.profiled.heap).toMatchObject({ allocations: 3, frees: 1, liveBlocks: 2 });
  });
});

describe("neighbours", () => {
  it("that begin in the same 16 bytes are told apart", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 8, "a");
    heap.malloc(A + 8, 8, "b");
    heap.store(A + 7);
    heap.store(A + 8, 2);
    heap.free(A);
    heap.malloc(A, 5, "c");
    heap.store(A, 4);
    heap.free(A + 8);
    heap.free(A);
    expect(heap.profiled.contexts().map(({ mib }) => mib.totalAccessCount)).toEqual([1n, 2n, 4n]);
    expect(heap.profiled.snapshot().notTracked).toEqual([]);
  });

  it("that share a granule are told of", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 4, "a");
    heap.malloc(A + 4, 4, "b");
    expect(heap.profiled.snapshot().notTracked).toEqual([
      "1 time two live blocks were in the same 8 bytes: their accesses cannot be separated.",
    ]);
    expect(heap.profiled.heap.liveBlocks).toBe(2);
  });

  it("at the end of memory", () => {
    const heap = new ScriptedHeap();
    const last = 4 * 65536 - 16;
    heap.malloc(last, 16);
    heap.store(last + 15);
    heap.free(last);
    expect(heap.profiled.only().mib.totalAccessCount).toBe(1n);
    heap.malloc(last, 17);
    heap.malloc(-16, 8);
    expect(heap.profiled.heap.allocations).toBe(1);
    expect(heap.profiled.snapshot().notTracked).toEqual(["2 blocks were outside the recorded memory."]);
  });
});

describe("the histogram of exact mode", () => {
  it("has the accesses of every 8 bytes, summed over blocks", () => {
    const heap = new ScriptedHeap({ exactHistogram: true });
    heap.malloc(A, 20);
    heap.store(A, 3);
    heap.load(A + 8);
    heap.load(A + 19, 2);
    heap.free(A);
    expect(heap.profiled.only().mib).toMatchObject({ accessHistogramSize: 3, histogram: [3n, 1n, 2n] });
    heap.malloc(A, 33);
    heap.fill(A, 33);
    expect(heap.profiled.only().mib.histogram).toEqual([4n, 2n, 3n, 1n, 1n]);
    heap.free(A);
    expect(heap.profiled.only().mib).toMatchObject({
      accessHistogramSize: 5,
      histogram: [4n, 2n, 3n, 1n, 1n],
    });
    heap.malloc(B, 1);
    heap.walk(B - 64, 128);
    heap.free(B);
    expect(heap.profiled.only().mib.histogram).toEqual([6n, 2n, 3n, 1n, 1n]);
  });

  it("grows with the blocks", () => {
    const heap = new ScriptedHeap({ exactHistogram: true });
    for (const size of [8, 64, 65, 128, 1000, 8, 5000]) {
      heap.malloc(A, size);
      heap.store(A);
      heap.store(A + size - 1);
      heap.free(A);
    }
    const { histogram } = heap.profiled.only().mib;
    const expected: Record<number, bigint> = { 0: 9n, 7: 1n, 8: 1n, 15: 1n, 124: 1n, 624: 1n };
    expect(histogram).toEqual(Array.from({ length: 625 }, (_, i) => expected[i] ?? 0n));
  });
});
