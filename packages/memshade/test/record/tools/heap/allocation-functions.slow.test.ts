import { describe, expect, it } from "vitest";
import { ScriptedHeap } from "./support/scripted-heap.ts";

// Expected values are worked out by hand. The clock counts allocations: the first block is made at time 1.

const A = 1024;
const B = 2048;

describe("realloc", () => {
  const moved = (from: number, to: number, size: number) => {
    const heap = new ScriptedHeap();
    heap.malloc(from, 64, "a");
    heap.store(from, 3);
    heap.realloc(from, to, size, "b");
    heap.store(to, 5);
    return heap;
  };

  it.each([
    ["in place", A, A, 64],
    ["to another place", A, B, 200],
    ["in place, shrinking", A, A, 8],
    ["to another place, shrinking", A, B, 8],
  ])("%s ends the old block and begins a new one", (_how, from, to, size) => {
    const heap = moved(from, to, size);
    const [a, b] = heap.profiled.contexts();
    expect([a.stack, b.stack]).toEqual([["malloc_a"], ["realloc_b"]]);
    expect(a.mib).toMatchObject({
      allocCount: 1,
      totalSize: 64n,
      totalAccessCount: 3n,
      allocTimestamp: 1,
      deallocTimestamp: 1,
    });
    expect(b.mib).toMatchObject({
      allocCount: 1,
      totalSize: BigInt(size),
      totalAccessCount: 5n,
      allocTimestamp: 2,
    });
    expect([a.site.reallocations, b.site.reallocations]).toEqual([0, 1]);
    expect(heap.profiled.heap).toMatchObject({
      allocations: 2,
      frees: 1,
      liveBlocks: 1,
      liveBytes: size,
      otherAccesses: 0,
    });
  });

  it("hands contents on: the old block is neither never accessed nor never read", () => {
    const heap = moved(A, B, 100);
    expect(heap.profiled.contexts()[0].site).toMatchObject({ neverAccessed: 0, writtenNeverRead: 0 });
    const fresh = new ScriptedHeap();
    fresh.malloc(A, 64, "a");
    fresh.realloc(A, B, 100, "b");
    fresh.free(B);
    const [old, last] = fresh.profiled.contexts().map(({ site }) => site);
    expect([old.neverAccessed, old.writtenNeverRead]).toEqual([0, 0]);
    expect(last).toMatchObject({ neverAccessed: 1, neverAccessedBytes: 100 });
  });

  it("to no bytes frees when it returns null, and makes a block of one byte when it does not", () => {
    const freeing = new ScriptedHeap();
    freeing.malloc(A, 64);
    freeing.realloc(A, 0, 0, "b");
    expect(freeing.profiled.heap).toMatchObject({ allocations: 1, frees: 1, liveBlocks: 0 });
    expect(freeing.profiled.only().site).toMatchObject({ neverAccessed: 1, reallocations: 0 });
    const keeping = new ScriptedHeap();
    keeping.malloc(A, 64);
    keeping.realloc(A, B, 0, "b");
    expect(keeping.profiled.heap).toMatchObject({ allocations: 2, frees: 1, liveBlocks: 1, liveBytes: 1 });
  });

  it("of null is malloc", () => {
    const heap = new ScriptedHeap();
    heap.realloc(0, A, 24, "c");
    expect(heap.profiled.only()).toMatchObject({
      stack: ["realloc_c"],
      mib: { totalSize: 24n },
      site: { reallocations: 0 },
    });
    expect(heap.profiled.heap).toMatchObject({ allocations: 1, frees: 0 });
    expect(heap.profiled.snapshot().notTracked).toEqual([]);
  });

  it("of null to no bytes that returns null does nothing", () => {
    const heap = new ScriptedHeap();
    heap.realloc(0, 0, 0);
    expect(heap.profiled.heap).toMatchObject({ allocations: 0, frees: 0 });
  });

  it("that fails leaves the block as it was", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 64);
    heap.store(A, 3);
    expect(heap.realloc(A, 0, 1_000_000, "b")).toBe(0);
    heap.store(A, 4);
    heap.free(A);
    expect(heap.profiled.only().mib).toMatchObject({ allocCount: 1, totalAccessCount: 7n });
    expect(heap.profiled.heap).toMatchObject({ allocations: 1, frees: 1 });
  });

  it("of a block nobody saw made counts as a new one, and is told of", () => {
    const heap = new ScriptedHeap();
    heap.malloc(B, 8);
    heap.realloc(A, A + 64, 32, "b");
    expect(heap.profiled.heap).toMatchObject({ allocations: 2, frees: 0, liveBlocks: 2 });
    expect(heap.profiled.snapshot().notTracked.join()).toContain(
      "1 release named a block whose allocation was not seen",
    );
  });

  it("keeps the temporary figure of its blocks", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 8);
    for (let i = 1; i < 5; i++) heap.realloc(A, A, 8 * i);
    heap.free(A);
    expect(
      heap.profiled.contexts().map(({ site, mib }) => [mib.allocCount, site.temporary, site.reallocations]),
    ).toEqual([
      [1, 1, 0],
      [4, 4, 4],
    ]);
  });
});

describe("the other allocation functions", () => {
  it("calloc asks for count · size", () => {
    const heap = new ScriptedHeap();
    heap.calloc(A, 7, 12);
    expect(heap.profiled.only().mib).toMatchObject({ totalSize: 84n, totalAccessCount: 0n });
  });

  it("calloc and malloc that fail made no block", () => {
    const heap = new ScriptedHeap();
    heap.calloc(0, 65536, 65537);
    heap.malloc(0, 1_000_000_000);
    heap.alignedAlloc(0, 64);
    expect(heap.profiled.heap).toMatchObject({ allocations: 0, sites: [] });
  });

  it("aligned_alloc", () => {
    const heap = new ScriptedHeap();
    heap.alignedAlloc(A, 48);
    expect(heap.profiled.only()).toMatchObject({ stack: ["aligned_alloc_a"], mib: { totalSize: 48n } });
  });

  it("posix_memalign stores its block, unless it fails", () => {
    const heap = new ScriptedHeap();
    expect(heap.posixMemalign(A, 48)).toBe(0);
    expect(heap.posixMemalign(0, 48)).toBe(12);
    heap.store(A, 2);
    heap.free(A);
    expect(heap.profiled.only()).toMatchObject({
      stack: ["posix_memalign_a"],
      mib: { allocCount: 1, totalSize: 48n, totalAccessCount: 2n },
    });
    expect(heap.profiled.heap.otherAccesses).toBe(0);
  });

  it("free of null, of an unknown address, twice", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 8);
    heap.free(0);
    expect(heap.profiled.snapshot()).toMatchObject({ heap: { frees: 0 }, notTracked: [] });
    heap.free(B);
    heap.free(A + 8);
    heap.free(A);
    heap.free(A);
    expect(heap.profiled.snapshot()).toMatchObject({
      heap: { allocations: 1, frees: 1 },
      notTracked: ["3 blocks were freed whose allocation was not recorded."],
    });
  });

  it("a block handed out again without a release ends, and is told of", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 8, "a");
    heap.store(A, 2);
    heap.malloc(A, 16, "b");
    heap.store(A, 3);
    expect(heap.profiled.contexts().map(({ mib }) => [mib.allocCount, mib.totalAccessCount])).toEqual([
      [1, 2n],
      [1, 3n],
    ]);
    expect(heap.profiled.snapshot().notTracked).toEqual([
      expect.stringMatching(/^1 of 2 blocks was handed out over a live one: its release was not recorded/),
    ]);
    expect(heap.profiled.heap).toMatchObject({ allocations: 2, liveBlocks: 1, liveBytes: 16 });
  });

  it("called by JavaScript itself have the function's own place as their site", () => {
    const heap = new ScriptedHeap();
    heap.mallocFromHost(A, 8);
    expect(heap.profiled.only().stack).toEqual(["malloc"]);
  });
});
