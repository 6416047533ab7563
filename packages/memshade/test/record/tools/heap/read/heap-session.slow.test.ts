import { describe, expect, it } from "vitest";
import { readRaw, writeRaw } from "../../../../../src/profile/formats/memprof-raw/index.ts";
import type { RawProfile } from "../../../../../src/profile/model/raw-profile.ts";
import type { InstrumentOptions } from "../../../../../src/record/tools/index.ts";
import { wat } from "../../../../support/assemble.ts";
import {
  BUMP,
  contextsOf,
  newSession,
  Profiled,
  RecordedHeap,
  snapshotOf,
} from "../../../../support/profiled.ts";
import { ScriptedHeap, SITES } from "../support/scripted-heap.ts";

const A = 1024;
const B = 2048;
const C = 4096;

function work(heap: ScriptedHeap, rounds = 10): void {
  for (let i = 0; i < rounds; i++) {
    heap.malloc(A, 20 + i, SITES[i % 4]);
    heap.store(A, i);
    heap.realloc(A, B, 100 + i, SITES[i % 3]);
    heap.load(B + i, 3);
    heap.fill(B, 64);
    if (i % 3 !== 0) heap.free(B);
    else heap.realloc(B, 0, 0);
  }
  heap.malloc(C, 50);
  heap.store(C, 2);
}

describe.each<[string, InstrumentOptions]>([
  ["merged", {}],
  ["exact", { exactHistogram: true }],
  ["with small tables", { maxContexts: 2 }],
])("two runs of one program, %s", (_name, options) => {
  it("give the same profile, byte for byte", () => {
    const [one, other] = [1, 2].map(() => {
      const heap = new ScriptedHeap(options);
      work(heap);
      return heap.profiled.snapshot();
    });
    expect(Buffer.from(writeRaw(one.raw)).equals(Buffer.from(writeRaw(other.raw)))).toBe(true);
    expect(JSON.stringify({ ...one, raw: 0 })).toBe(JSON.stringify({ ...other, raw: 0 }));
  });

  it("give the same profile though one of them was looked at all the time", () => {
    const [quiet, watched] = [new ScriptedHeap(options), new ScriptedHeap(options)];
    for (let i = 0; i < 5; i++) {
      work(quiet, 3);
      work(watched, 3);
      quiet.free(C);
      const first = watched.profiled.snapshot();
      expect(watched.profiled.snapshot()).toEqual(first);
      watched.free(C);
    }
    expect(watched.profiled.snapshot()).toEqual(quiet.profiled.snapshot());
  });
});

const asRead = (raw: RawProfile) => readRaw(writeRaw(raw, raw.version));

describe("a snapshot", () => {
  it("leaves the shadow memory as it is", () => {
    const heap = new ScriptedHeap({ maxContexts: 3 });
    work(heap);
    const before = new Uint8Array(heap.profiled.shadow.buffer.slice(0, heap.profiled.info.layout?.stack));
    heap.profiled.snapshot();
    const after = new Uint8Array(heap.profiled.shadow.buffer, 0, heap.profiled.info.layout?.stack);
    expect(Buffer.compare(before, after)).toBe(0);
  });

  it("has one site per context, and sites and contexts agree", () => {
    const heap = new ScriptedHeap();
    work(heap);
    const { heap: totals, raw } = heap.profiled.snapshot();
    const { contexts } = asRead(raw);
    expect(totals.sites.map(({ stackId }) => BigInt(stackId))).toEqual(
      contexts.map(({ stackId }) => stackId),
    );
    const sum = (field: "totalSize" | "totalAccessCount" | "allocCount") =>
      contexts.reduce((total, { mib }) => total + Number(mib[field]), 0);
    expect(totals).toMatchObject({
      allocations: sum("allocCount"),
      allocatedBytes: sum("totalSize"),
      heapAccesses: sum("totalAccessCount"),
      liveBytes: totals.sites.reduce((total, { liveBytes }) => total + liveBytes, 0),
      peakBytes: totals.sites.reduce((total, { peakBytes }) => total + peakBytes, 0),
      peakBlocks: totals.sites.reduce((total, { peakBlocks }) => total + peakBlocks, 0),
    });
  });

  it.each([3, 4, 5] as const)("can be written as raw version %i", (rawVersion) => {
    const session = new RecordedHeap({
      clock: "virtual",
      rawVersion,
      counters: "exact",
      includeStack: false,
      includeAllocator: false,
    });
    const heap = new ScriptedHeap({ exactHistogram: true }, { session });
    work(heap);
    const { version, contexts } = asRead(snapshotOf(session).raw);
    expect([version, contexts.length]).toEqual([rawVersion, 7]);
    const sums = contexts.map(({ mib }) => (mib.histogram ?? []).reduce((sum, count) => sum + count, 0n));
    const expected = contexts.map(({ mib }) => (rawVersion === 3 ? 0n : mib.totalAccessCount));
    expect(sums).toEqual(expected);
  });

  it("of a session without instances is empty", () => {
    const { heap, modules, raw, notTracked } = snapshotOf(newSession());
    expect(heap).toMatchObject({ allocations: 0, sites: [] });
    expect([modules, notTracked, asRead(raw).contexts]).toEqual([[], [], []]);
  });
});

describe("reset", () => {
  it("forgets what has ended, and keeps the blocks that live with all their accesses", () => {
    const heap = new ScriptedHeap();
    work(heap);
    heap.store(60_000, 5);
    heap.profiled.session.reset();
    expect(heap.profiled.heap).toMatchObject({
      allocations: 1,
      frees: 0,
      allocatedBytes: 50,
      liveBytes: 50,
      liveBlocks: 1,
      peakBytes: 50,
      peakBlocks: 1,
      heapAccesses: 2,
      otherAccesses: 0,
    });
    const { mib, site } = heap.profiled.only();
    expect(mib).toMatchObject({
      allocCount: 1,
      totalAccessCount: 2n,
      numSameAllocCpu: 0,
      numLifetimeOverlaps: 0,
    });
    expect(site).toMatchObject({
      peakBytes: 50,
      peakBlocks: 1,
      neverAccessed: 0,
      writtenNeverRead: 1,
      reallocations: 0,
    });
    heap.load(C);
    heap.free(C);
    heap.malloc(A, 10, "b");
    expect(heap.profiled.heap).toMatchObject({
      allocations: 2,
      frees: 1,
      peakBytes: 50,
      liveBytes: 10,
      heapAccesses: 3,
    });
    expect(heap.profiled.contexts().map(({ mib: { totalSize } }) => totalSize)).toEqual([50n, 10n]);
  });

  it("begins a peak of its own", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 1000, "a");
    heap.malloc(B, 10, "b");
    heap.free(A);
    heap.profiled.session.reset();
    expect(heap.profiled.heap).toMatchObject({ peakBytes: 10, peakBlocks: 1 });
    heap.malloc(C, 5, "c");
    heap.free(C);
    heap.free(B);
    expect(heap.profiled.contexts().map(({ site }) => [site.peakBytes, site.peakBlocks])).toEqual([
      [10, 1],
      [5, 1],
    ]);
  });

  it("at the very beginning and twice in a row changes nothing", () => {
    const [plain, cleared] = [new ScriptedHeap(), new ScriptedHeap()];
    cleared.profiled.session.reset();
    cleared.profiled.session.reset();
    for (const heap of [plain, cleared]) work(heap);
    // The span of the memory includes blocks from before a reset, so it is unknown afterwards.
    const { heap, ...others } = plain.profiled.snapshot();
    const { spanBytes, ...known } = heap;
    expect(spanBytes).toBeGreaterThan(0);
    expect(cleared.profiled.snapshot()).toEqual({ ...others, heap: known });
  });

  it("makes what follows like a run of its own, but for the clock", () => {
    const [fresh, warm] = [
      new ScriptedHeap({ exactHistogram: true }),
      new ScriptedHeap({ exactHistogram: true }),
    ];
    work(warm);
    warm.free(C);
    warm.profiled.session.reset();
    for (const heap of [fresh, warm]) work(heap);
    const figures = (heap: ScriptedHeap) =>
      heap.profiled
        .contexts()
        .map(({ stack, mib: { allocTimestamp, deallocTimestamp, ...mib }, site: { stackId, ...site } }) => ({
          stack,
          mib,
          site,
        }));
    expect(figures(warm).sort(byStack)).toEqual(figures(fresh).sort(byStack));
    const { profilerBytes, sites, spanBytes, ...totals } = fresh.profiled.heap;
    expect(warm.profiled.heap).toMatchObject(totals);
  });

  it("forgets what was handed over and what instances left that are gone", () => {
    const session = newSession();
    const gone = new ScriptedHeap({}, { session });
    work(gone);
    session.releaseInstance(gone.profiled.handle);
    const heap = new ScriptedHeap({ maxContexts: 1 }, { session });
    work(heap);
    expect(heap.profiled.flushes).toBeGreaterThan(5);
    heap.free(C);
    session.reset();
    expect(snapshotOf(session).heap).toMatchObject({
      allocations: 0,
      peakBytes: 0,
      sites: [],
      heapAccesses: 0,
      otherAccesses: 0,
    });
    expect(snapshotOf(session).notTracked).toEqual([]);
  });
});

const byStack = (a: { stack: string[] }, b: { stack: string[] }) =>
  a.stack.join() < b.stack.join() ? -1 : 1;

describe("an instance that is released", () => {
  it("leaves its figures, its live blocks included", () => {
    const heap = new ScriptedHeap();
    work(heap);
    const before = heap.profiled.snapshot();
    heap.profiled.session.releaseInstance(heap.profiled.handle);
    expect(heap.profiled.snapshot()).toEqual(before);
    heap.malloc(A, 1, "d");
    heap.free(C);
    heap.profiled.session.releaseInstance(heap.profiled.handle);
    expect(heap.profiled.snapshot()).toEqual(before);
    expect(heap.profiled.session.flush(heap.profiled.handle)).toBe(false);
  });

  it("leaves them at its place: the garbage collector decides when it goes, and the profile does not show that", () => {
    const profileOf = (...released: number[]) => {
      const session = newSession();
      const heaps = [1, 2, 3].map(() => new ScriptedHeap({}, { session }));
      for (const heap of heaps) work(heap);
      for (const index of released) session.releaseInstance(heaps[index].profiled.handle);
      const { raw, ...rest } = snapshotOf(session);
      return { ...rest, raw: Buffer.from(writeRaw(raw)).toString("hex") };
    };
    const kept = profileOf();
    expect(profileOf(2)).toEqual(kept);
    expect(profileOf(1, 0, 2)).toEqual(kept);
  });

  it("does not mix with the ones that come after it", () => {
    const session = newSession();
    const first = new ScriptedHeap({}, { session });
    first.malloc(A, 10);
    session.releaseInstance(first.profiled.handle);
    const second = new ScriptedHeap({}, { session });
    second.malloc(A, 10);
    second.free(A);
    const { heap, modules } = snapshotOf(session);
    expect(heap).toMatchObject({ allocations: 2, frees: 1, liveBlocks: 1, liveBytes: 10 });
    expect(modules).toHaveLength(1);
    expect(modules[0].instances).toBe(2);
    expect(contextsOf(snapshotOf(session))[0].mib).toMatchObject({
      allocCount: 2,
      allocCpuId: 1,
      numMigratedCpu: 0,
    });
  });
});

describe("several instances of one module", () => {
  it("share its contexts: sums, smallest and largest over both", () => {
    const session = newSession();
    const [one, other] = [new ScriptedHeap({}, { session }), new ScriptedHeap({}, { session })];
    one.malloc(A, 10, "a");
    one.store(A, 5);
    other.malloc(A, 30, "a");
    other.load(A, 1);
    one.free(A);
    other.malloc(B, 7, "b");
    other.free(A);
    const [a, b] = contextsOf(snapshotOf(session));
    expect(a.mib).toMatchObject({
      allocCount: 2,
      totalSize: 40n,
      minSize: 10,
      maxSize: 30,
      totalAccessCount: 6n,
      minAccessCount: 1n,
      maxAccessCount: 5n,
      numMigratedCpu: 0,
      allocCpuId: 1,
      deallocCpuId: 1,
      // Clocks of different instances are not comparable: no block has a predecessor in the other instance.
      numLifetimeOverlaps: 0,
      numSameAllocCpu: 0,
      numSameDeallocCpu: 0,
    });
    expect(b.mib.allocCpuId).toBe(1);
    const { heap, modules, notTracked } = snapshotOf(session);
    expect(heap).toMatchObject({
      allocations: 3,
      frees: 2,
      peakBytes: 10 + 37,
      liveBlocks: 1,
      heapAccesses: 6,
    });
    expect(modules.map(({ instances }) => instances)).toEqual([2]);
    expect(notTracked).toEqual([
      "The peak is the sum of the peaks of 2 instances, which may have been at different times: it is an upper bound.",
    ]);
  });

  it("have the CPU of their number from their first block on, those of a start function included", () => {
    const module = wat(`(module (memory 1 1) ${BUMP} (global $block (mut i32) (i32.const 0))
      (func $start (global.set $block (call $malloc (i32.const 8))) (call $free (call $malloc (i32.const 16))))
      (start $start)
      (func (export "release") (call $free (global.get $block))))`);
    const session = newSession();
    const instances = [0, 1, 2].map(() => new Profiled(module, { session }));
    for (const instance of instances) instance.call("release");
    for (const { mib } of contextsOf(snapshotOf(session)))
      expect(mib).toMatchObject({ allocCount: 3, numMigratedCpu: 0, allocCpuId: 2, deallocCpuId: 2 });
  });

  it("hand over their tables each on its own", () => {
    const session = newSession();
    const heaps = [0, 1].map(() => new ScriptedHeap({ maxContexts: 1 }, { session }));
    for (let i = 0; i < 12; i++)
      for (const heap of heaps) {
        heap.malloc(A, 8, SITES[i % 4]);
        heap.free(A);
      }
    expect(contextsOf(snapshotOf(session)).map(({ mib }) => mib.allocCount)).toEqual([6, 6, 6, 6]);
  });
});

describe("several modules", () => {
  const other = wat(
    `(module (memory 1 1) ${BUMP} (func $other (export "other") (drop (call $malloc (i32.const 99)))))`,
  );

  it("lie 4 GiB apart, each with its own functions and build id", () => {
    const session = newSession();
    const heap = new ScriptedHeap({}, { session, name: "first.wasm" });
    const second = new Profiled(other, { session, name: "second.wasm" });
    heap.malloc(A, 10);
    second.call("other");
    const snapshot = snapshotOf(session);
    expect(contextsOf(snapshot).map(({ module, stack, mib }) => [module, stack, mib.totalSize])).toEqual([
      [0, ["malloc_a"], 10n],
      [1, ["other"], 99n],
    ]);
    expect(snapshot.modules.map(({ index, name, start }) => [index, name, start])).toEqual([
      [0, "first.wasm", "0x0"],
      [1, "second.wasm", "0x100000000"],
    ]);
    const { segments } = asRead(snapshot.raw);
    expect(segments.map(({ start, end, offset }) => [start, end, offset])).toEqual([
      [0n, BigInt(heap.profiled.info.codeBytes), 0n],
      [2n ** 32n, 2n ** 32n + BigInt(second.info.codeBytes), 2n ** 32n],
    ]);
    expect(segments.map(({ buildId }) => Buffer.from(buildId).toString("hex"))).toEqual(
      snapshot.modules.map(({ buildId }) => buildId),
    );
    expect(new Set(snapshot.modules.map(({ buildId }) => buildId)).size).toBe(2);
  });

  it("without memory or without an allocator have nothing to say but why", () => {
    const texts = [
      '(memory 1 1) (func (export "f") (i32.store (i32.const 0) (i32.const 0)))',
      '(func (export "f"))',
    ];
    for (const text of texts) {
      const profiled = new Profiled(wat(`(module ${text})`));
      profiled.call("f");
      const { modules, heap } = profiled.snapshot();
      expect(profiled.info.layout).toBeUndefined();
      expect(modules[0].allocator).toMatchObject({
        how: "none",
        confirmed: null,
        refused: expect.stringMatching(/\.$/),
      });
      expect(heap).toMatchObject({ allocations: 0, sites: [] });
    }
  });

  it("so small that glue code must have made them for one function are no news beside others", () => {
    const session = newSession();
    const main = new Profiled(other, { session });
    new Profiled(wat('(module (func (export "f")))'), { session });
    main.call("other");
    const { modules, notTracked } = snapshotOf(session);
    expect(modules.map(({ allocator, notTracked }) => [allocator.refused, notTracked])).toEqual([
      [undefined, []],
      [undefined, []],
    ]);
    expect(notTracked).toEqual([]);
  });
});

describe("an allocator that was only guessed", () => {
  const guessed = (
    session: RecordedHeap,
    misbehave: (heap: ScriptedHeap) => void,
    { sharedMemory = false } = {},
  ) => {
    const heap = new ScriptedHeap();
    const { info, shadow } = heap.profiled;
    session.add(
      shadow,
      { ...info, sharedMemory, allocator: { ...info.allocator, needsConfirmation: true } },
      heap.bytes,
    );
    work(heap, 1);
    misbehave(heap);
  };

  it.each<[string, (heap: ScriptedHeap) => void, string]>([
    ["results that are not aligned", (heap) => heap.malloc(A + 4, 8), "1 result was not aligned to 8 bytes"],
    ["blocks outside memory", (heap) => heap.malloc(4 * 65536, 8), "1 block lay outside memory"],
    ["blocks over others", (heap) => heap.malloc(C, 8), "1 block overlapped a live one"],
    [
      "releases of what never was",
      (heap) => heap.free(B),
      "1 release named an address that was never handed out",
    ],
  ])("is refused for %s, with all it said", (_fault, misbehave, sentence) => {
    const session = newSession();
    guessed(session, misbehave);
    const { heap, modules } = snapshotOf(session);
    expect(modules[0].allocator.confirmed).toBe(false);
    expect(modules[0].allocator.refused).toContain(sentence);
    expect(heap).toMatchObject({ allocations: 0, peakBytes: 0, sites: [] });
  });

  it("may seem to hand out blocks twice and free what it never did where threads share a memory", () => {
    const session = newSession();
    const shared = { sharedMemory: true };
    guessed(session, (heap) => heap.malloc(C, 8), shared);
    guessed(session, (heap) => heap.free(B), shared);
    expect(snapshotOf(session).modules[0].allocator).toMatchObject({ confirmed: true });
    guessed(session, (heap) => heap.malloc(A + 4, 8), shared);
    expect(snapshotOf(session).modules[0].allocator.refused).toContain("not aligned");

    const alone = newSession();
    guessed(alone, (heap) => heap.free(B), shared);
    expect(snapshotOf(alone).modules[0].allocator.confirmed).toBe(false);
  });

  it("must be aligned like dlmalloc; one that is known by its names need not", () => {
    const named = new ScriptedHeap();
    named.malloc(A + 4, 4);
    named.free(A + 4);
    expect(named.profiled.snapshot().modules[0].allocator.confirmed).toBe(true);
  });

  it("is distrusted where it fits the minority of the blocks, where names tell what it is", () => {
    const named = new ScriptedHeap();
    const confirmed = () => named.profiled.snapshot().modules[0].allocator.confirmed;
    const stale = 100;
    // The host restores an earlier state of the memory, so addresses of live blocks are returned again.
    for (let i = 0; i < stale; i++) named.malloc(A + 64 * i, 8);
    for (let i = 0; i < stale; i++) named.malloc(A + 64 * i, 8);
    expect(confirmed()).toBe(true);
    const { heap, notTracked } = named.profiled.snapshot();
    expect(notTracked.join()).toContain("100 of 200 blocks were handed out over live ones");
    expect(notTracked.join()).toContain("the host has restored an earlier state of the memory");
    expect(heap).toMatchObject({ allocations: 200, frees: 100, liveBlocks: 100 });
    named.malloc(A, 8);
    expect(confirmed()).toBe(false);
  });

  it("is believed when it behaves like one", () => {
    const session = newSession();
    guessed(session, () => undefined);
    const { heap, modules } = snapshotOf(session);
    expect(modules[0].allocator).toMatchObject({ confirmed: true });
    expect(heap.allocations).toBe(3);
  });
});

describe("the wall clock", () => {
  it("is milliseconds from the first block to the last, never the number of allocations", () => {
    const heap = new ScriptedHeap({ clock: "wall" });
    for (let i = 0; i < 500; i++) heap.malloc(A + i * 16, 8);
    const { mib } = heap.profiled.only();
    expect(mib.deallocTimestamp).toBeLessThan(400);
    expect(mib.maxLifetime).toBeLessThan(400);
  });

  it("goes on while the program runs, for blocks that end and for blocks that live", () => {
    const heap = new ScriptedHeap({ clock: "wall" });
    heap.malloc(A, 8, "a");
    heap.malloc(B, 8, "b");
    const until = performance.now() + 30;
    // The host's clock is read once in one or two thousand events. The minimum of events holds even if this thread gets little time.
    for (let events = 0; events < 10_000 || performance.now() < until; events++) {
      heap.malloc(C, 8, "c");
      heap.free(C);
    }
    heap.free(B);
    const [a, b, c] = heap.profiled.contexts();
    expect(b.mib.maxLifetime).toBeGreaterThan(0);
    expect(a.mib.maxLifetime).toBeGreaterThan(0);
    expect(c.mib.deallocTimestamp).toBeGreaterThanOrEqual(c.mib.minLifetime);
    expect(a.mib.deallocTimestamp).toBeGreaterThanOrEqual(b.mib.deallocTimestamp);
    expect(heap.profiled.snapshot().tool.clock).toEqual({ kind: "wall", unit: "ms" });
  });
});
