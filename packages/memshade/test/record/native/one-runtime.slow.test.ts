import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NATIVE_LAYOUT } from "../../../src/record/native/memory-layout.ts";
import { type ShadowContents, ShadowReader } from "../../../src/record/tools/heap/read/read-shadow.ts";
import { ScriptedHeap, SITES } from "../tools/heap/support/scripted-heap.ts";
import { FakeProcess } from "./support/fake-process.ts";
import { Machine } from "./support/machine.ts";

/** Possible block addresses, with the room at each. Native addresses are in the upper part of the address space. */
const PLACES = [
  ...Array.from({ length: 6 }, (_, i) => ({ address: 4096 + i * 8, room: 8 })),
  ...Array.from({ length: 8 }, (_, i) => ({ address: 8192 + i * 128, room: 128 })),
  ...Array.from({ length: 5 }, (_, i) => ({ address: 16_384 + i * 8192, room: 8192 })),
  { address: 131_072 - 16, room: 40 },
];
const HIGH = 0x7f12_3456_0000;
const MEMORY_BYTES = 262_144;

const KINDS = ["malloc", "calloc", "aligned_alloc", "realloc"] as const;
const step = fc.record({
  kind: fc.constantFrom("malloc", "malloc", "calloc", "aligned_alloc", "free", "free", "realloc", "failing"),
  place: fc.nat(PLACES.length - 1),
  to: fc.nat(PLACES.length - 1),
  size: fc.oneof(fc.constantFrom(8, 24, 64), fc.nat(40), fc.nat(9000)),
  site: fc.constantFrom(...SITES),
});

/** Sends the same events to a heap in WebAssembly and to one in a native process. */
class Both {
  readonly wasm = new ScriptedHeap({ tools: ["alloc"], maxContexts: 65_536, maxBlocks: 4 * 2 ** 20 });
  readonly native = new FakeProcess();
  readonly #live = new Map<number, number>();
  readonly #machine: Machine;

  constructor() {
    this.#machine = new Machine([this.native]);
    this.native.memory.map(HIGH, new Uint8Array(MEMORY_BYTES));
    this.native.library.free = () => undefined;
  }

  take({ kind, place, to, size, site }: typeof step extends fc.Arbitrary<infer T> ? T : never): void {
    const { wasm, native } = this;
    const { address, room } = PLACES[place];
    if (kind === "free") {
      wasm.free(address);
      native.hooks.free(BigInt(HIGH + address));
      this.#live.delete(place);
      return;
    }
    if (kind === "realloc" || kind === "failing") {
      const old = this.#live.has(place) ? address : 0;
      const isGiven = kind === "realloc";
      if (isGiven && this.#live.has(to) && to !== place) return;
      const bytes = isGiven ? size % (PLACES[to].room + 1) : 1 << 20;
      const given = isGiven ? PLACES[to].address : 0;
      this.#callFrom("realloc", site);
      native.library.realloc = () => (given === 0 ? 0 : HIGH + given);
      wasm.realloc(old, given, bytes, site);
      native.hooks.realloc(old === 0 ? 0n : BigInt(HIGH + old), BigInt(bytes));
      if (!isGiven) return;
      this.#live.delete(place);
      this.#live.set(to, bytes);
      return;
    }
    if (this.#live.has(place)) return;
    const bytes = size % (room + 1);
    this.#live.set(place, bytes);
    this.#callFrom(kind as (typeof KINDS)[number], site);
    native.library.malloc = () => HIGH + address;
    native.library.calloc = () => HIGH + address;
    native.library.aligned_alloc = () => HIGH + address;
    if (kind === "malloc") {
      wasm.malloc(address, bytes, site);
      native.hooks.malloc(BigInt(bytes));
    } else if (kind === "calloc") {
      wasm.calloc(address, 1, bytes, site);
      native.hooks.calloc(1n, BigInt(bytes));
    } else {
      wasm.alignedAlloc(address, bytes, site);
      native.hooks.aligned_alloc(64n, BigInt(bytes));
    }
  }

  /** Each kind and site has its own call in the outermost function. */
  #callFrom(kind: (typeof KINDS)[number], site: (typeof SITES)[number]): void {
    const call = this.#machine.site;
    this.native.site = {
      ...call,
      address: call.address + KINDS.indexOf(kind) * SITES.length + SITES.indexOf(site),
    };
  }
}

/** Content that a reader finds, without code addresses and table sizes. */
function withoutSites({ totals, contexts, series }: ShadowContents) {
  return {
    // A native program has many ranges of memory, so no span.
    totals: { ...totals, profilerBytes: 0, spanBytes: 0 },
    contexts: contexts.map((context) => ({ ...context, sites: context.sites.length })),
    series: series && {
      ...series,
      intervals: series.intervals.map((interval) => ({ ...interval, next: interval.next?.length })),
      changes: [...series.changes.values()].map(({ changes }) => changes),
    },
  };
}

describe("the heap's runtime inside a native program", () => {
  it("makes of any sequence of allocations and releases the tables that it makes in WebAssembly", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 150 }), (steps) => {
        const both = new Both();
        for (const one of steps) both.take(one);
        const { shadow, info } = both.wasm.profiled;
        const wasm = new ShadowReader(shadow, info.layout!, info).read();
        const native = new ShadowReader(both.native.linear, NATIVE_LAYOUT, info).read();
        expect(withoutSites(native)).toEqual(withoutSites(wasm));
        expect(new Set(native.contexts.map(({ sites }) => sites.join())).size).toBe(native.contexts.length);
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 25), seed: Number(process.env.MEMSHADE_SEED ?? 5) },
    );
  });
});
