import { beforeEach, describe, expect, it } from "vitest";
import {
  Header,
  MODULE_BYTES,
  Module,
  NextWord,
  Place,
  Text,
  Thread,
} from "../../../src/record/native/layout.ts";
import { NATIVE_LAYOUT } from "../../../src/record/native/memory-layout.ts";
import { ShadowReader } from "../../../src/record/tools/heap/read/read-shadow.ts";
import { FakeProcess, TEXT } from "./support/fake-process.ts";
import { Machine } from "./support/machine.ts";

const HEAP = 0x7f00_1000_0000;
const INFO = { clock: "virtual", counters: "merged", tools: ["alloc"] } as const;

describe("hooks of the allocator", () => {
  let process: FakeProcess;
  let machine: Machine;
  const read = () => new ShadowReader(process.linear, NATIVE_LAYOUT, { ...INFO, tools: ["alloc"] }).read();
  const unrecorded = () => Number(process.view.getBigUint64(Header.unrecorded, true));

  beforeEach(() => {
    process = new FakeProcess();
    machine = new Machine([process]);
    process.memory.map(HEAP, new Uint8Array(1 << 16));
    let next = HEAP;
    const take = () => {
      next += 4096;
      return next;
    };
    process.library = {
      malloc: take,
      calloc: take,
      memalign: take,
      aligned_alloc: take,
      valloc: take,
      pvalloc: take,
      realloc: (old) => old || take(),
      reallocarray: () => 0,
      posix_memalign: (result) => {
        process.memory.store64(result, BigInt(take()));
        return 0;
      },
      free: () => undefined,
      malloc_usable_size: () => 24,
      dlclose: () => 0,
    };
    process.site = machine.site;
  });

  it("record what each function of the family hands out, and pass its result on", () => {
    const { hooks } = process;
    expect(hooks.malloc(1n)).toBe(BigInt(HEAP + 4096));
    expect(hooks.calloc(2n, 8n)).toBe(BigInt(HEAP + 2 * 4096));
    hooks.memalign(64n, 100n);
    hooks.aligned_alloc(64n, 1000n);
    hooks.valloc(10_000n);
    hooks.pvalloc(100_000n);
    expect(hooks.posix_memalign(BigInt(HEAP + 8), 64n, 1_000_000n)).toBe(0);
    expect(read().totals).toMatchObject({ allocations: 7, liveBlocks: 7, liveBytes: 1_111_117 });
    expect(hooks.malloc_usable_size(8n)).toBe(24n);
  });

  it("have the allocator say at the exit what it holds, where the function that says so is its own", () => {
    const setNext = (word: number, address: number): void =>
      process.memory.store64(TEXT + Text.next + 8 * word, BigInt(address));
    const asked: number[] = [];
    process.library.mallinfo2 = (result) => asked.push(result);
    process.hooks.malloc(1n);
    process.hooks.finalize();
    setNext(NextWord.malloc, machine.site.address);
    setNext(NextWord.allocatorInfo, HEAP);
    process.hooks.finalize();
    expect(asked).toEqual([]);
    expect(process.view.getUint32(Header.isAllocatorAsked, true)).toBe(0);
    setNext(NextWord.allocatorInfo, machine.site.address);
    process.hooks.finalize();
    expect(asked).toHaveLength(1);
    expect(process.view.getUint32(Header.isAllocatorAsked, true)).toBe(1);
  });

  it("make no record of what failed", () => {
    process.library.malloc = () => 0;
    process.library.posix_memalign = () => 12;
    process.hooks.malloc(8n);
    expect(process.hooks.posix_memalign(0n, 64n, 8n)).toBe(12);
    expect(read().totals.allocations).toBe(0);
    expect(unrecorded()).toBe(0);
  });

  it("keep a block that a reallocation could not change", () => {
    const block = process.hooks.malloc(600n);
    process.library.realloc = () => 0;
    expect(process.hooks.realloc(block, 1n << 40n)).toBe(0n);
    expect(process.hooks.reallocarray(block, 1n << 40n, 1n << 40n)).toBe(0n);
    expect(read().totals).toMatchObject({ allocations: 1, liveBytes: 600, unmatchedFrees: 0 });
    process.hooks.free(block);
    expect(read().totals).toMatchObject({ liveBytes: 0, unmatchedFrees: 0 });
  });

  it("take an array for one block, whose function of the C library calls another hook", () => {
    const array = process.hooks.reallocarray(0n, 3n, 100n);
    const larger = process.hooks.reallocarray(array, 5n, 100n);
    expect(read().totals).toMatchObject({ allocations: 2, liveBytes: 500, liveBlocks: 1 });
    process.hooks.free(larger);
    expect(read().totals).toMatchObject({ liveBytes: 0, unmatchedFrees: 0 });
    expect(unrecorded()).toBe(0);
  });

  it("tell a moved block from one that another thread got at its old address meanwhile", () => {
    const old = process.hooks.malloc(64n);
    const moved = HEAP + 0x8000;
    process.library.realloc = () => {
      // The other thread runs between the release inside realloc and realloc's return.
      process.thread++;
      process.library.malloc = () => Number(old);
      process.hooks.malloc(32n);
      process.thread--;
      return moved;
    };
    process.hooks.realloc(old, 128n);
    expect(read().totals).toMatchObject({ allocations: 3, liveBlocks: 2, liveBytes: 160, overlaps: 0 });
    process.hooks.free(old);
    process.hooks.free(BigInt(moved));
    expect(read().totals).toMatchObject({ liveBlocks: 0, unmatchedFrees: 0 });
  });

  it("count what comes from inside of a hook, as from a signal's handler, and record nothing of it", () => {
    process.library.malloc = (size) => {
      if (size === 8) process.hooks.malloc(16n);
      return HEAP + size;
    };
    process.hooks.malloc(8n);
    expect(read().totals).toMatchObject({ allocations: 1, liveBytes: 8 });
    expect(unrecorded()).toBe(1);
    process.hooks.malloc(32n);
    expect(read().totals.allocations).toBe(2);
  });

  it("count blocks of 4 GiB and more as beyond the tables", () => {
    const block = process.hooks.malloc(5n << 30n);
    expect(read().totals).toMatchObject({ allocations: 1, overflowBlocks: 1, unfollowedBytes: 5 * 2 ** 30 });
    process.hooks.free(block);
    expect(read().totals).toMatchObject({ unfollowedFrees: 1, unmatchedFrees: 0 });
  });

  it("tell blocks apart that begin in the same 32 bytes, as other allocators hand them out", () => {
    const places = [0x40, 0x50, 0x48, 0x60].map((offset) => HEAP + offset);
    const left = [...places];
    process.library.malloc = () => left.shift() as number;
    for (const _ of places) process.hooks.malloc(8n);
    const blocks = () =>
      [...new ShadowReader(process.linear, NATIVE_LAYOUT, { ...INFO, tools: ["alloc"] }).blocks]
        .map(({ address }) => address)
        .sort((a, b) => a - b);
    expect(blocks()).toEqual(places.toSorted((a, b) => a - b));
    process.hooks.free(BigInt(HEAP + 0x50));
    expect(blocks()).toEqual([HEAP + 0x40, HEAP + 0x48, HEAP + 0x60]);
    expect(read().totals).toMatchObject({ liveBlocks: 3, unmatchedFrees: 0, overlaps: 0 });
  });

  it("give the lock back in a program that has one thread, and wait for it where it was left taken", () => {
    process.beAlone();
    process.hooks.malloc(8n);
    expect(process.header(Header.lock)).toBe(0);
    process.view.setUint32(Header.lock, 1, true);
    process.kernel.onWait = () => process.view.setUint32(Header.lock, 0, true);
    process.hooks.malloc(8n);
    expect(read().totals.allocations).toBe(2);
    expect(process.header(Header.lock)).toBe(0);
  });

  it("wait for the lock, and have it when it is given back", () => {
    process.hooks.malloc(8n);
    process.view.setUint32(Header.lock, 1, true);
    process.kernel.onWait = () => process.view.setUint32(Header.lock, 0, true);
    process.hooks.malloc(8n);
    expect(read().totals.allocations).toBe(2);
    expect(process.header(Header.lock)).toBe(0);
    expect(unrecorded()).toBe(0);
  });

  it("go on without a lock that nobody gives back, after a second, and then sooner", () => {
    process.hooks.malloc(8n);
    process.view.setUint32(Header.lock, 1, true);
    const before = process.kernel.clock;
    process.hooks.malloc(8n);
    const first = process.kernel.clock - before;
    expect(first).toBeGreaterThanOrEqual(1e9);
    process.hooks.malloc(8n);
    expect(process.kernel.clock - before - first).toBeLessThan(1e7);
    expect(read().totals.allocations).toBe(1);
    expect([unrecorded(), process.header(Header.abandoned)]).toEqual([2, 2]);
  });

  it("hold the tables still for a dump, until the parent has them or a second is over", () => {
    process.view.setUint32(Header.request, 7, true);
    let answered = 0;
    process.kernel.onSleep = () => {
      answered = process.header(Header.answered);
      process.view.setUint32(Header.request, 0, true);
    };
    process.hooks.malloc(8n);
    expect(answered).toBe(7);
    expect([process.header(Header.answered), process.header(Header.lock)]).toEqual([0, 0]);
  });

  it("begin anew in a child that was forked", () => {
    process.hooks.malloc(8n);
    process.kernel.process = 43;
    process.view.setUint32(Header.process, 43, true);
    process.view.setUint32(Header.threads, 0, true);
    process.hooks.malloc(8n);
    expect(process.header(Header.threads)).toBe(1);
  });

  it("know threads by number and name, and give the places of those that have ended to others", () => {
    process.hooks.malloc(8n);
    process.hooks.malloc(16n);
    const at = process.threadAt(0);
    expect(process.view.getUint32(at + Thread.id, true)).toBe(100);
    expect(process.memory.text(0x7e01_0000_0000 + at + Thread.name)).toBe("thread-100");
    expect(process.view.getBigUint64(at + Thread.bytes, true)).toBe(24n);
    process.kernel.ended.add(100);
    process.view.setUint32(Header.threads, 1024, true);
    process.thread = 200;
    process.hooks.malloc(8n);
    expect(process.view.getUint32(at + Thread.id, true)).toBe(200);
    process.thread = 201;
    process.hooks.malloc(8n);
    expect([process.header(Header.threadsRefused), unrecorded()]).toEqual([1, 1]);
  });

  it("meet an object again that was loaded where another one was", () => {
    process.hooks.malloc(8n);
    process.objects.unload("/bin/machine");
    expect(process.hooks.dlclose(1n)).toBe(0);
    process.load({ start: 0x40_0000, end: 0x40_1000, bias: 0, name: "/lib/other.so" });
    process.hooks.malloc(8n);
    expect(process.header(Header.modules)).toBe(2);
    const kinds = [0, 1].map((i) =>
      process.view.getUint32(Place.modules + MODULE_BYTES * i + Module.kind, true),
    );
    expect(kinds).toEqual([3, 1]);
    expect(read().contexts).toHaveLength(2);
  });

  it("take tables that the parent makes while they wait for them", () => {
    process.load({ start: 0x50_0000, end: 0x50_1000, bias: 0, name: "/lib/late.so" });
    process.site = { ...process.site, address: 0x50_0010 };
    process.view.setUint32(Header.tablesWait, 100, true);
    process.kernel.onSleep = () => {
      expect(process.header(Header.wanted)).toBeGreaterThan(0);
      process.kernel.files.set(
        `/tables/${"02".repeat(20)}`,
        process.kernel.files.get(`/tables/${"01".repeat(20)}`)!,
      );
      process.view.setUint32(Header.tablesTurn, 1, true);
    };
    process.hooks.malloc(8n);
    expect(process.view.getBigUint64(Place.modules + Module.table, true)).not.toBe(0n);
  });

  it("take none of tables that are damaged, and wait for others", () => {
    const whole = process.kernel.files.get(`/tables/${"01".repeat(20)}`)!;
    const damaged = whole.map((byte, at) => (at === whole.length - 9 ? byte ^ 1 : byte));
    process.load({ start: 0x50_0000, end: 0x50_1000, bias: 0, name: "/lib/late.so" }, damaged);
    process.site = { ...process.site, address: 0x50_0010 };
    process.view.setUint32(Header.tablesWait, 100, true);
    const table = () => process.view.getBigUint64(Place.modules + Module.table, true);
    process.kernel.onSleep = () => {
      expect([process.header(Header.wanted), table()]).toEqual([1, 0n]);
      process.kernel.files.set(`/tables/${"02".repeat(20)}`, whole);
      process.view.setUint32(Header.tablesTurn, 1, true);
    };
    process.hooks.malloc(8n);
    expect(table()).not.toBe(0n);
  });
});
