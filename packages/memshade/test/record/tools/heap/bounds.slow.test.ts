import { describe, expect, it } from "vitest";
import type { Mib } from "../../../../src/profile/model/mib.ts";
import type { InstrumentOptions } from "../../../../src/record/tools/index.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { Profiled } from "../../../support/profiled.ts";
import { Choices } from "../../../support/random-module.ts";

const WAYS = 12;

/**
 * Every block is allocated on one of 12 · 12 · 2 paths: `run(first, second, third)` calls through three levels, and the last
 * level allocates. Blocks are 64 bytes apart, from a list of the host.
 */
const PATHS = wat(`(module (memory 16 16)
  (global $next (export "next") (mut i32) (i32.const 0))
  (func $malloc (param $size i32) (result i32) (global.get $next))
  (func $free (param i32))
  (type $level (func (param i32 i32 i32)))
  (func $leaf0 (param $second i32) (param $third i32) (param $size i32)
    (if (local.get $third) (then (drop (call $malloc (local.get $size)))) (else (drop (call $malloc (local.get $size))) (nop))))
  ${Array.from({ length: WAYS }, (_, i) => `(func $second${i} (type $level) (call $leaf0 (local.get 0) (local.get 1) (local.get 2)))`).join("\n")}
  ${Array.from({ length: WAYS }, (_, i) => `(func $first${i} (type $level) (call_indirect (type $level) (local.get 0) (local.get 1) (local.get 2) (i32.add (local.get 0) (i32.const ${WAYS}))))`).join("\n")}
  (table ${WAYS * 2} funcref)
  (elem (i32.const 0) ${Array.from({ length: WAYS }, (_, i) => `$first${i}`).join(" ")} ${Array.from({ length: WAYS }, (_, i) => `$second${i}`).join(" ")})
  (func $run (export "run") (param $first i32) (param $second i32) (param $third i32) (param $size i32)
    (call_indirect (type $level) (local.get $second) (local.get $third) (local.get $size) (local.get $first)))
  (func (export "release") (param i32) (call $free (local.get 0)))
  (func (export "store") (param i32) (i32.store8 (local.get 0) (i32.const 1)))
  (func (export "load") (param i32) (drop (i32.load8_u (local.get 0)))))`);
const ALLOCATOR = "malloc=malloc,free=free";

class Paths {
  readonly profiled: Profiled;
  readonly #free = Array.from({ length: 2000 }, (_, i) => 4096 + i * 64);
  readonly live: number[] = [];

  constructor(options: InstrumentOptions = {}, host = true) {
    this.profiled = new Profiled(PATHS, { options: { allocator: ALLOCATOR, ...options }, host });
  }

  allocate(first: number, second: number, third: number, size: number): number {
    const address = this.#free.shift() as number;
    (this.profiled.exports.next as unknown as WebAssembly.Global<"i32">).value = address;
    this.profiled.call("run", first, second, third, size);
    this.live.push(address);
    return address;
  }

  release(address: number): void {
    this.live.splice(this.live.indexOf(address), 1);
    this.#free.push(address);
    this.profiled.call("release", address);
  }

  touch(address: number, reads: boolean): void {
    this.profiled.call(reads ? "load" : "store", address);
  }

  work(seed: number, steps: number, mostLive: number): void {
    const choices = new Choices(seed);
    for (let i = 0; i < steps; i++) {
      const full = this.live.length >= mostLive;
      if (!full && (this.live.length === 0 || choices.chance(50))) {
        // Some paths are taken far more often than others.
        const second = choices.below(1 + choices.below(WAYS));
        this.allocate(choices.below(1 + choices.below(WAYS)), second, choices.below(2), choices.below(60));
      } else if (full || choices.chance(60)) this.release(choices.of(this.live));
      else this.touch(choices.of(this.live) + choices.below(8), choices.chance(50));
    }
  }

  /** Figures of each path that do not depend on the order of blocks. */
  figures(): Record<string, unknown> {
    const contexts = this.profiled.contexts();
    return Object.fromEntries(
      contexts
        .map(
          ({ offsets, mib, site: { stackId, ...extras } }) =>
            [offsets.join(), { ...withoutOrder(mib), ...extras }] as const,
        )
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  }
}

/** Removes the fields that compare a block with its predecessor, which is unknown at the seam between two dumps. */
function withoutOrder(mib: Mib): Partial<Mib> {
  const {
    numLifetimeOverlaps,
    numSameAllocCpu,
    numSameDeallocCpu,
    allocTimestamp,
    deallocTimestamp,
    ...rest
  } = mib;
  return rest;
}

describe("a tree of contexts that outgrows its table", () => {
  it("keeps every path, and no path twice", () => {
    const paths = new Paths();
    for (let round = 0; round < 3; round++)
      for (let path = 0; path < WAYS * WAYS * 2; path++) {
        paths.allocate(path % WAYS, ((path / WAYS) | 0) % WAYS, (path / WAYS / WAYS) | 0, 8);
        paths.release(paths.live[0]);
      }
    const contexts = paths.profiled.contexts();
    expect(new Set(contexts.map(({ offsets }) => offsets.join())).size).toBe(WAYS * WAYS * 2);
    expect(contexts.map(({ mib }) => mib.allocCount)).toEqual(contexts.map(() => 3));
  });
});

describe("tables that are full of contexts", () => {
  it.each([
    ["few live blocks", { maxContexts: 4 }, 3],
    ["many live blocks", { maxContexts: 40 }, 30],
    ["one context at a time", { maxContexts: 1 }, 1],
    ["histograms", { maxContexts: 4, exactHistogram: true }, 3],
  ])("hand over what has ended and lose nothing: %s", (_name, options, mostLive) => {
    const unbounded = new Paths({ ...options, maxContexts: 10_000 });
    const bounded = new Paths(options);
    for (const paths of [unbounded, bounded]) paths.work(5, 1500, mostLive);
    expect(bounded.profiled.flushes).toBeGreaterThan(20);
    expect(unbounded.profiled.flushes).toBe(0);
    expect(bounded.figures()).toEqual(unbounded.figures());
    const { profilerBytes, sites, ...totals } = bounded.profiled.heap;
    expect(unbounded.profiled.heap).toMatchObject(totals);
    expect(totals.overflow).toEqual({ contexts: 0, blocks: 0 });
    expect(profilerBytes).toBeLessThanOrEqual(unbounded.profiled.heap.profilerBytes);
    expect(sites.length).toBe(unbounded.profiled.heap.sites.length);
  });

  it("hand over at most once per allocation, thousands of times", () => {
    const paths = new Paths({ maxContexts: 1 });
    for (let i = 0; i < 4000; i++) {
      paths.allocate(i % WAYS, (i >> 2) % WAYS, i % 2, 16);
      paths.release(paths.live[0]);
    }
    expect(paths.profiled.flushes).toBeGreaterThan(3000);
    expect(paths.profiled.flushes).toBeLessThan(4001);
    const { heap, notTracked } = paths.profiled.snapshot();
    expect(heap).toMatchObject({ allocations: 4000, frees: 4000, overflow: { contexts: 0, blocks: 0 } });
    expect(paths.profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(4000);
    expect(notTracked).toEqual([]);
  });

  it("keep the contexts of live blocks, and what they will add", () => {
    const paths = new Paths({ maxContexts: 4 });
    const kept = [paths.allocate(0, 0, 0, 40), paths.allocate(1, 1, 1, 50)];
    paths.touch(kept[0], true);
    for (let i = 0; i < 200; i++) {
      paths.allocate(2 + (i % 10), i % WAYS, 0, 8);
      paths.release(paths.live[2]);
    }
    paths.touch(kept[0], false);
    paths.touch(kept[1], false);
    const first = () =>
      paths.profiled.contexts().filter(({ mib }) => mib.totalSize === 40n || mib.totalSize === 50n);
    expect(first().map(({ mib, site }) => [mib.totalSize, mib.totalAccessCount, site.liveBlocks])).toEqual([
      [40n, 2n, 1],
      [50n, 1n, 1],
    ]);
    for (const address of kept) paths.release(address);
    expect(first().map(({ mib, site }) => [mib.totalSize, mib.totalAccessCount, site.liveBlocks])).toEqual([
      [40n, 2n, 0],
      [50n, 1n, 0],
    ]);
  });

  it("know the peak, whoever has been handed over since", () => {
    const paths = new Paths({ maxContexts: 2 });
    const blocks = [paths.allocate(0, 0, 0, 60), paths.allocate(1, 1, 0, 50)];
    for (const address of blocks) paths.release(address);
    for (let i = 0; i < 20; i++) paths.release(paths.allocate(2 + (i % 8), 2, 1, 30));
    const peaks = paths.profiled.contexts().filter(({ site }) => site.peakBytes > 0);
    expect(peaks.map(({ site, mib }) => [site.peakBytes, site.peakBlocks, mib.maxSize])).toEqual([
      [60, 1, 60],
      [50, 1, 50],
    ]);
    paths.allocate(0, 0, 0, 60);
    paths.allocate(5, 5, 0, 51);
    paths.release(paths.live[0]);
    for (let i = 0; i < 20; i++) paths.release(paths.allocate(6, i % 6, 1, 3));
    const later = paths.profiled.contexts().filter(({ site }) => site.peakBytes > 0);
    expect(later.map(({ site }) => site.peakBytes).sort()).toEqual([51, 60]);
    expect(paths.profiled.heap).toMatchObject({ peakBytes: 111, peakBlocks: 2 });
  });

  it("without anybody to hand over to, put the rest into one entry that says so", () => {
    const paths = new Paths({ maxContexts: 3 }, false);
    for (let i = 0; i < 10; i++) {
      const address = paths.allocate(i, 0, 0, 10);
      paths.touch(address, false);
      if (i % 2 === 0) paths.release(address);
    }
    const contexts = paths.profiled.contexts();
    const overflow = contexts.find(({ stack }) => stack[0] === "[calling contexts beyond --max-contexts]");
    expect(contexts).toHaveLength(4);
    expect(overflow?.mib).toMatchObject({
      allocCount: 7,
      totalSize: 70n,
      totalAccessCount: 7n,
      minSize: 10,
      minAccessCount: 1n,
    });
    expect(overflow?.site).toMatchObject({ liveBlocks: 4, writtenNeverRead: 7 });
    const { heap, notTracked, modules } = paths.profiled.snapshot();
    expect(heap).toMatchObject({
      allocations: 10,
      frees: 5,
      allocatedBytes: 100,
      overflow: { contexts: 7, blocks: 0 },
    });
    expect(notTracked).toEqual([]);
    expect(modules[0].allocator.confirmed).toBe(true);
    expect(modules[0].functions[0].name).toBe("[calling contexts beyond --max-contexts]");
  });

  it("with a live block in every context, count the rest together, without asking the host for each", () => {
    const paths = new Paths({ maxContexts: 8 });
    for (let i = 0; i < 500; i++) paths.allocate(i % WAYS, (i * 5) % WAYS, 0, 10);
    const { heap } = paths.profiled.snapshot();
    expect(heap).toMatchObject({ allocations: 500, liveBlocks: 500, liveBytes: 5000 });
    expect(paths.profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(500);
    expect(paths.profiled.flushes).toBeLessThan(250);
    for (const address of [...paths.live]) paths.release(address);
    // Soon after space is free again, it is reused.
    for (let i = 0; i < 10; i++) paths.release(paths.allocate(11, 11, 1, 99));
    expect(paths.profiled.contexts().some(({ mib, stack }) => mib.maxSize === 99 && stack.length === 4)).toBe(
      true,
    );
    expect(paths.profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(510);
  });

  it("forget on reset what is in the entry for the rest, and no more than that", () => {
    const paths = new Paths({ maxContexts: 3 }, false);
    for (let i = 0; i < 10; i++) paths.allocate(i, 0, 0, 10);
    paths.profiled.session.reset();
    for (const address of [...paths.live]) paths.release(address);
    paths.allocate(9, 9, 1, 10);
    expect(paths.profiled.heap).toMatchObject({ allocations: 11, frees: 10, liveBlocks: 1 });
    expect(paths.profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(11);
  });
});

describe("stacks while tables are full", () => {
  const DEPTH = 60;
  // f0 calls f1 … calls f59; each function allocates before and after its call.
  const deep = wat(`(module (memory 4 4)
    (global $next (mut i32) (i32.const 4096))
    (func $malloc (param i32) (result i32) (global.get $next) (global.set $next (i32.add (global.get $next) (i32.const 32))))
    (func $free (param i32))
    (type $t (func))
    (table ${DEPTH} funcref) (elem (i32.const 0) ${Array.from({ length: DEPTH }, (_, i) => `$f${i}`).join(" ")})
    ${Array.from(
      { length: DEPTH },
      (_, i) => `(func $f${i} (type $t) (local $p i32)
        (local.set $p (call $malloc (i32.const 8)))
        ${i + 1 < DEPTH ? `(call_indirect (type $t) (i32.const ${i + 1}))` : ""}
        (call $free (local.get $p))
        (call $free (call $malloc (i32.const 16))))`,
    ).join("\n")}
    (func $run (export "run") (call $f0)))`);

  it("are decoded again after every eviction", () => {
    const run = (maxContexts: number) => {
      const profiled = new Profiled(deep, { options: { allocator: ALLOCATOR, maxContexts } });
      for (let i = 0; i < 3; i++) profiled.call("run");
      return profiled;
    };
    const [unbounded, bounded] = [run(1000), run(DEPTH + 20)];
    expect(bounded.flushes).toBeGreaterThan(2);
    expect(bounded.contexts()).toHaveLength(2 * DEPTH);
    expect(bounded.stacks()).toEqual(unbounded.stacks());
  });

  it("that do not fit the tables at all are counted together", () => {
    const profiled = new Profiled(deep, { options: { allocator: ALLOCATOR, maxContexts: 2 } });
    for (let i = 0; i < 3; i++) profiled.call("run");
    expect(profiled.heap).toMatchObject({ allocations: 6 * DEPTH, frees: 6 * DEPTH });
    expect(profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(6 * DEPTH);
    expect(profiled.heap.overflow.contexts).toBeGreaterThan(100);
  });
});

describe("paths that share few of their calls", () => {
  const [LEVELS, TAIL] = [9, 30];
  // The last 30 calls of each of the 512 paths belong to that path only.
  const long = wat(`(module (memory 16 16)
    (global $next (mut i32) (i32.const 4096))
    (func $malloc (param i32) (result i32) (global.get $next) (global.set $next (i32.add (global.get $next) (i32.const 64))))
    (func $free (param i32))
    (func $tail${TAIL} (result i32) (call $malloc (i32.const 8)))
    ${Array.from({ length: TAIL }, (_, i) => `(func $tail${i} (result i32) (call $tail${i + 1}) (nop))`).join("\n")}
    (func $level${LEVELS} (param i32) (result i32) (call $tail0))
    ${Array.from(
      { length: LEVELS },
      (_, i) => `(func $level${i} (param $path i32) (result i32)
        (if (result i32) (i32.and (i32.shr_u (local.get $path) (i32.const ${i})) (i32.const 1))
          (then (call $level${i + 1} (local.get $path))) (else (call $level${i + 1} (local.get $path)))))`,
    ).join("\n")}
    (func (export "run") (param i32) (result i32) (call $level0 (local.get 0)))
    (func (export "release") (param i32) (call $free (local.get 0))))`);

  it("fill the table of calls before that of contexts: the rest is counted together, and the host is hardly asked", () => {
    const profiled = new Profiled(long, { options: { allocator: ALLOCATOR, maxContexts: 512 } });
    for (let path = 0; path < 2 ** LEVELS; path++) profiled.call("run", path);
    // Path 511 found the tables full.
    for (let i = 0; i < 5000; i++) profiled.call("release", profiled.call("run", 511) as number);
    const { contexts } = profiled.heap.overflow;
    expect(contexts).toBeGreaterThan(5000);
    expect(profiled.contexts().reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(5512);
    expect(profiled.flushes).toBeLessThan(10);
  });
});

describe("a call that is a site of blocks and on the way to others", () => {
  it("gets an entry of its own again after its first one was handed over", () => {
    // $pick calls malloc directly or through another function, from one call instruction.
    const module = wat(`(module (memory 4 4)
      (global $next (mut i32) (i32.const 4096))
      (type $alloc (func (param i32) (result i32)))
      (func $malloc (param i32) (result i32) (global.get $next) (global.set $next (i32.add (global.get $next) (i32.const 64))))
      (func $free (param i32))
      (table 8 funcref) (elem (i32.const 0) $malloc $other0 $other1 $other2 $other3 $other4)
      ${Array.from({ length: 5 }, (_, i) => `(func $other${i} (type $alloc) (i32.add (call $malloc (i32.const ${i + 1})) (global.get $zero)))`).join("\n")}
      (global $zero (mut i32) (i32.const 0))
      (func $pick (export "pick") (param $which i32) (result i32)
        (i32.add (call_indirect (type $alloc) (i32.const 40) (local.get $which)) (global.get $zero)))
      (func (export "release") (param i32) (call $free (local.get 0)) (global.set $zero (i32.const 0))))`);
    const profiled = new Profiled(module, { options: { allocator: ALLOCATOR, maxContexts: 3 } });
    const pick = (which: number) => profiled.call("pick", which) as number;
    const kept = pick(1);
    profiled.call("release", pick(0));
    for (const which of [2, 3, 4, 5, 2, 3]) profiled.call("release", pick(which));
    expect(profiled.flushes).toBeGreaterThan(1);
    profiled.call("release", pick(0));
    profiled.call("release", pick(0));
    expect(profiled.stacks()).toEqual({
      pick: 3,
      "other0 < pick": 1,
      "other1 < pick": 2,
      "other2 < pick": 2,
      "other3 < pick": 1,
      "other4 < pick": 1,
    });
    profiled.call("release", kept);
    const direct = profiled.contexts().find(({ stack }) => stack.length === 1);
    expect(direct?.mib).toMatchObject({ allocCount: 3, totalSize: 120n, minSize: 40, maxSize: 40 });
  });
});

describe("tables that are full of blocks", () => {
  const work = () => {
    const paths = new Paths({ maxBlocks: 5 });
    const blocks = Array.from({ length: 12 }, (_, i) => paths.allocate(i, 0, 0, 20));
    for (const address of blocks) paths.touch(address, true);
    return { paths, blocks };
  };

  it("count the blocks beyond, and say how many they were", () => {
    const { paths } = work();
    const { heap, notTracked } = paths.profiled.snapshot();
    expect(heap).toMatchObject({
      allocations: 12,
      allocatedBytes: 240,
      liveBlocks: 5,
      liveBytes: 100,
      peakBytes: 100,
      heapAccesses: 5,
      otherAccesses: 7,
      overflow: { contexts: 0, blocks: 7 },
    });
    expect(notTracked).toEqual([]);
  });

  it("take no offence at the release of those", () => {
    const { paths, blocks } = work();
    for (const address of blocks) paths.release(address);
    const { heap, notTracked, modules } = paths.profiled.snapshot();
    expect(heap).toMatchObject({ allocations: 12, frees: 12, liveBlocks: 0, overflow: { blocks: 7 } });
    expect(modules[0].allocator.confirmed).toBe(true);
    expect(notTracked).toEqual([]);
  });

  it("follow new blocks when old ones have gone", () => {
    const { paths, blocks } = work();
    for (const address of blocks.slice(0, 5)) paths.release(address);
    const address = paths.allocate(3, 3, 1, 33);
    paths.touch(address, true);
    paths.release(address);
    const context = paths.profiled.contexts().find(({ mib }) => mib.maxSize === 33);
    expect(context?.mib).toMatchObject({ allocCount: 1, totalAccessCount: 1n });
    expect(paths.profiled.heap.overflow.blocks).toBe(7);
  });
});

describe("the histograms' memory", () => {
  it("serves a context again after it was handed over, and others after it has grown", () => {
    const paths = new Paths({ maxContexts: 2, exactHistogram: true });
    for (let i = 0; i < 300; i++) {
      const address = paths.allocate(i % 6, 0, 0, 8 + (i % 50));
      paths.touch(address + (i % 8), true);
      paths.release(address);
    }
    const sums = paths.profiled
      .contexts()
      .map(({ mib }) => (mib.histogram ?? []).reduce((sum, count) => sum + count, 0n));
    expect(sums).toEqual(Array(6).fill(50n));
    expect(paths.profiled.snapshot().notTracked).toEqual([]);
  });
});

describe("bounds that make no sense", () => {
  it.each([
    ...[0, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY, 1e9].map((maxContexts) => ({ maxContexts })),
    ...[0, -1, 0.5, Number.NaN, 1e9].map((maxBlocks) => ({ maxBlocks })),
  ])("are refused: %o", (options) => {
    expect(() => instrument(PATHS, { allocator: ALLOCATOR, ...options })).toThrow(/must be between 1 and/);
  });

  it("the largest and the smallest ones work", () => {
    for (const options of [
      { maxContexts: 524_288 },
      { maxContexts: 1, maxBlocks: 1 },
      { maxBlocks: 16_777_216 },
      { maxContexts: 524_288, maxBlocks: 16_777_216, exactHistogram: true },
    ]) {
      const paths = new Paths(options);
      paths.release(paths.allocate(1, 2, 0, 10));
      expect(paths.profiled.heap).toMatchObject({ allocations: 1, frees: 1 });
    }
  });
});
