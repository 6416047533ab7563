import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { counted } from "../../../src/model/counted.ts";
import type { InstrumentOptions } from "../../../src/tools/index.ts";
import { ReferenceHeap } from "./support/reference-heap.ts";
import { ScriptedHeap, SITES, type Site } from "./support/scripted-heap.ts";

/** Places where a block can be, with the room there: small ones side by side, a few large ones, and both at a region's end. */
const PLACES = [
  ...Array.from({ length: 8 }, (_, i) => ({ address: 4096 + i * 8, room: 8 })),
  ...Array.from({ length: 12 }, (_, i) => ({ address: 8192 + i * 128, room: 128 })),
  ...Array.from({ length: 6 }, (_, i) => ({ address: 16_384 + i * 4096, room: 4096 })),
  ...[
    { address: 131_072 - 1040, room: 1024 },
    { address: 131_072 - 16, room: 40 },
    { address: 131_072 + 24, room: 16 },
  ],
];

type Step =
  | { kind: "malloc" | "calloc" | "aligned"; place: number; size: number; site: Site }
  | { kind: "free"; place: number }
  | { kind: "realloc"; from: number; to: number; size: number; site: Site }
  | { kind: "fail"; place: number; site: Site }
  | { kind: "load" | "store"; place: number; at: number; times: number }
  | { kind: "fill" | "walk"; place: number; bytes: number }
  | { kind: "stray"; address: number; reads: boolean };

const place = fc.integer({ min: 0, max: PLACES.length - 1 });
const site = fc.constantFrom(...SITES);
/** Becomes a size or an offset inside the place. A few sizes come often, so that blocks are alike. */
const share = fc.oneof(
  fc.constantFrom(8, 24, 64),
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 4096 }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("malloc" as const, "calloc" as const, "aligned" as const),
      place,
      size: share,
      site,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("free" as const), place }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("realloc" as const),
      from: place,
      to: place,
      size: share,
      site,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const), place, site }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("load" as const, "store" as const),
      place,
      at: share,
      times: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("fill" as const, "walk" as const), place, bytes: share }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("stray" as const),
      address: fc.integer({ min: 1000, max: 50_000 }),
      reads: fc.boolean(),
    }),
  },
);

/** Takes the same steps in the program and in the reference. Steps that make no sense at their moment are left out. */
class Replay {
  readonly program: ScriptedHeap;
  readonly reference: ReferenceHeap;
  readonly #sizes = new Map<number, number>();
  /** Blocks that may live at once. */
  readonly #most: number;
  #accesses = 0;

  constructor(options: InstrumentOptions) {
    this.#most = options.maxBlocks ?? PLACES.length;
    this.program = new ScriptedHeap(options);
    this.reference = new ReferenceHeap(options.exactHistogram === true);
  }

  take(step: Step): void {
    const { program, reference } = this;
    switch (step.kind) {
      case "malloc":
      case "calloc":
      case "aligned": {
        const { address, room } = PLACES[step.place];
        if (this.#sizes.has(step.place) || this.#sizes.size >= this.#most) return;
        const size = step.size % (room + 1);
        this.#sizes.set(step.place, size);
        const context = { malloc: "malloc", calloc: "calloc", aligned: "aligned_alloc" }[step.kind];
        if (step.kind === "malloc") program.malloc(address, size, step.site);
        else if (step.kind === "calloc") program.calloc(address, 1, size, step.site);
        else program.alignedAlloc(address, size, step.site);
        reference.allocate(address, size, `${context}_${step.site}`);
        return;
      }
      case "free":
        // Of a place that holds no block, too: releases that mean nothing.
        program.free(PLACES[step.place].address);
        reference.release(PLACES[step.place].address);
        this.#sizes.delete(step.place);
        return;
      case "realloc": {
        const old = this.#sizes.has(step.from) ? PLACES[step.from].address : 0;
        if (this.#sizes.has(step.to) && step.from !== step.to) return;
        if (old === 0 && this.#sizes.size >= this.#most) return;
        const size = step.size % (PLACES[step.to].room + 1);
        program.realloc(old, PLACES[step.to].address, size, step.site);
        reference.reallocate(old, PLACES[step.to].address, size, `realloc_${step.site}`);
        this.#sizes.delete(step.from);
        this.#sizes.set(step.to, size);
        return;
      }
      case "fail": {
        // Out of memory for what exists, and releasing by realloc.
        const old = this.#sizes.has(step.place) ? PLACES[step.place].address : 0;
        const size = step.site === "a" ? 0 : 1 << 20;
        program.malloc(0, 1 << 30, step.site);
        program.realloc(old, 0, size, step.site);
        reference.reallocate(old, 0, size, "");
        if (size === 0) this.#sizes.delete(step.place);
        return;
      }
      case "load":
      case "store": {
        const size = this.#sizes.get(step.place);
        if (!size) return;
        const address = PLACES[step.place].address + (step.at % size);
        program[step.kind](address, step.times);
        for (let i = 0; i < step.times; i++) this.#access(address, step.kind === "load");
        return;
      }
      case "fill":
      case "walk": {
        const size = this.#sizes.get(step.place);
        const bytes = size === undefined ? 0 : (step.bytes % (size + 1)) & ~7;
        if (bytes === 0) return;
        const { address } = PLACES[step.place];
        program[step.kind](address, bytes);
        for (let at = 0; at < bytes; at += step.kind === "fill" ? 8 : 4) this.#access(address + at, false);
        return;
      }
      case "stray":
        if (step.reads) program.load(step.address);
        else program.store(step.address);
        this.#access(step.address, step.reads);
    }
  }

  #access(address: number, reads: boolean): void {
    this.#accesses++;
    this.reference.access(address, reads);
  }

  expectEqualTotals(): void {
    const { heap, notTracked } = this.program.profiled.snapshot();
    const { allocations, frees, peakBytes, peakBlocks, liveBytes, liveBlocks } = this.reference;
    expect(heap).toMatchObject({ allocations, frees, peakBytes, peakBlocks, liveBytes, liveBlocks });
    expect(heap.heapAccesses + heap.otherAccesses).toBe(this.#accesses);
    const { unmatchedFrees } = this.reference;
    expect(notTracked).toEqual(
      unmatchedFrees === 0
        ? []
        : [
            `${counted(unmatchedFrees, "release named a block", "releases named blocks")} whose allocation was not seen.`,
          ],
    );
  }

  expectEqualContexts(): void {
    const measured = new Map(
      this.program.profiled
        .contexts()
        .map(({ stack, mib, site: { stackId, ...extras } }) => [stack.join(), { mib, extras }]),
    );
    expect(measured).toEqual(this.reference.contexts);
    expect(this.program.profiled.heap.heapAccesses).toBe(this.reference.heapAccesses);
  }

  /** Live blocks end in an order that nobody promises: before figures that depend on it are compared, all end. */
  releaseAll(): void {
    for (const index of [...this.#sizes.keys()].sort((a, b) => ((a * 7) % 5) - ((b * 7) % 5)))
      this.take({ kind: "free", place: index });
  }
}

describe.each([
  ["merged", {}],
  ["exact", { exactHistogram: true }],
  ["with room for 8 blocks", { maxBlocks: 8 }],
  ["with room for 16 blocks", { maxBlocks: 16 }],
] as const)("any sequence of allocations, releases and accesses, %s", (_name, options) => {
  it("has the figures that the reference gives, all fields of all contexts", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 120 }), (steps) => {
        const replay = new Replay(options);
        steps.forEach((one, i) => {
          replay.take(one);
          if (i % 40 === 39) replay.expectEqualTotals();
        });
        replay.expectEqualTotals();
        replay.releaseAll();
        replay.expectEqualTotals();
        replay.expectEqualContexts();
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 40), seed: Number(process.env.MEMSHADE_SEED ?? 7) },
    );
  });
});
