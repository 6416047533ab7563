import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Place, Replay, type Step } from "./support/replay.ts";
import { ScriptedHeap, SITES } from "./support/scripted-heap.ts";

const A = 8192;
const B = 16_384;
const C = 24_576;

/** Stores one value per 8 bytes, such that no two words of the block's first bytes are equal. */
function write(heap: ScriptedHeap, address: number, bytes: number): void {
  for (let at = 0; at < bytes; at += 8) heap.put(address + at, 1 + ((at / 8) % 255));
}

/** Moves the youngest block to a larger one as a vector does: allocates, copies, releases. */
function outgrow(heap: ScriptedHeap, old: number, used: number, next: number, size: number): void {
  heap.malloc(next, size);
  heap.copy(next, old, used);
  heap.free(old);
}

describe("a block that grows by hand and by realloc", () => {
  // The example next to the code in `assembly/growth.ts`.
  const heap = new ScriptedHeap();
  heap.malloc(A, 1000);
  write(heap, A, 1000);
  outgrow(heap, A, 1000, B, 2000);
  write(heap, B, 2000);
  heap.realloc(B, C, 4000);
  write(heap, C, 2500);

  const growth = {
    chains: 1,
    copies: 2,
    copiedBytes: 3000,
    mostCopies: 2,
    // The last granule that was stored to ends at 2504.
    finalBytes: 4000,
    usedBytes: 2504,
    largestFinal: 4000,
  };
  const siteOf = (name: string) => heap.profiled.contexts().find(({ stack }) => stack[0] === name)?.site;

  it("is one chain, which its last block carries while it lives", () => {
    expect(siteOf("realloc_a")).toMatchObject({
      growth,
      capacity: { blocks: 1, bytes: 4000, unusedBytes: 1496 },
    });
    expect(siteOf("malloc_a")).not.toHaveProperty("growth");
    expect(siteOf("malloc_a")).not.toHaveProperty("capacity");
  });

  it("is the same chain when the block has ended", () => {
    heap.free(C);
    expect(siteOf("realloc_a")).toMatchObject({ growth });
    expect(heap.profiled.heap).toMatchObject({
      growth,
      capacity: { blocks: 1, bytes: 4000, unusedBytes: 1496 },
    });
  });

  it("is forgotten with the ended blocks", () => {
    heap.profiled.session.reset();
    expect(heap.profiled.heap).toMatchObject({ growth: { chains: 0, copies: 0 }, capacity: { blocks: 0 } });
  });
});

describe("a block that realloc makes larger where it is", () => {
  it("has taken steps, and copies nothing", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 1000);
    write(heap, A, 1000);
    for (const size of [1001, 1002, 1002, 900, 1003]) heap.realloc(A, A, size);
    const growth = { chains: 0, copies: 0, steppedChains: 1, steps: 3 };
    expect(heap.profiled.heap).toMatchObject({ growth });
    heap.realloc(A, B, 2000);
    heap.free(B);
    expect(heap.profiled.heap).toMatchObject({ growth: { ...growth, chains: 1, copies: 1 } });
  });
});

describe("two blocks, the second larger, the first released before it", () => {
  const growthOf = (play: (heap: ScriptedHeap) => void) => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 1000);
    write(heap, A, 1000);
    play(heap);
    return heap.profiled.heap.growth?.copies;
  };

  it("are one that grew, where the contents are the same, whoever allocated and however long it took", () => {
    expect(growthOf((heap) => outgrow(heap, A, 1000, B, 2000))).toBe(1);
    const later = growthOf((heap) => {
      heap.malloc(B, 2000, "b");
      heap.copy(B, A, 1000);
      heap.malloc(C, 100);
      heap.free(A);
    });
    expect(later).toBe(1);
  });

  it("are one that grew, where the new contents begin in the last 8 bytes of the old ones", () => {
    const appended = growthOf((heap) => {
      heap.malloc(B, 2000);
      heap.copy(B, A, 1000);
      heap.put(B + 999, 255);
      heap.fill(B + 1000, 1000);
      heap.free(A);
    });
    expect(appended).toBe(1);
  });

  it("are one that grew, where elements were moved out of the first at once", () => {
    const move = (heap: ScriptedHeap, site: "a" | "b") => {
      heap.malloc(B, 2000, site);
      heap.copy(B, A, 1000);
      heap.fill(A, 1000);
      heap.free(A);
    };
    expect(growthOf((heap) => move(heap, "a"))).toBe(1);
    expect(growthOf((heap) => move(heap, "b"))).toBe(0);
  });

  it.each<[string, (heap: ScriptedHeap) => void]>([
    ["was not written", () => {}],
    ["was filled with something else", (heap) => heap.fill(B, 2000)],
    [
      "holds a part of the first one only",
      (heap) => {
        heap.copy(B, A, 984);
        heap.fill(B + 984, 1016);
      },
    ],
  ])("are independent, where the second one %s", (_name, use) => {
    const copies = growthOf((heap) => {
      heap.malloc(B, 2000);
      use(heap);
      heap.free(A);
    });
    expect(copies).toBe(0);
  });

  it("are independent, where the first one was hardly used", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 1000);
    write(heap, A, 400);
    outgrow(heap, A, 400, B, 2000);
    expect(heap.profiled.heap.growth?.copies).toBe(0);
  });

  it("are independent, where both are full of one value", () => {
    const heap = new ScriptedHeap();
    heap.malloc(A, 1000);
    heap.fill(A, 1000);
    heap.malloc(B, 2000);
    heap.fill(B, 2000);
    heap.free(A);
    expect(heap.profiled.heap.growth?.copies).toBe(0);
  });

  it("are independent, where the first one is the younger: a copy of a part", () => {
    const heap = new ScriptedHeap();
    heap.malloc(B, 2000);
    write(heap, B, 2000);
    heap.malloc(A, 400);
    heap.copy(A, B, 400);
    heap.free(A);
    expect(heap.profiled.heap.growth?.copies).toBe(0);
  });
});

it("a block that grows in its place is not copied, and keeps what was used of it", () => {
  const heap = new ScriptedHeap();
  heap.malloc(A, 1000);
  write(heap, A, 1000);
  heap.realloc(A, A, 3000);
  heap.free(A);
  expect(heap.profiled.heap).toMatchObject({
    growth: { chains: 0, copies: 0 },
    capacity: { blocks: 1, bytes: 3000, unusedBytes: 2000 },
  });
});

it("blocks that were never accessed, and those that went on in others, have no capacity", () => {
  const heap = new ScriptedHeap();
  heap.malloc(A, 1000);
  heap.free(A);
  heap.malloc(A, 1000);
  write(heap, A, 1000);
  outgrow(heap, A, 1000, B, 2000);
  expect(heap.profiled.heap.capacity).toEqual({ blocks: 1, bytes: 2000, unusedBytes: 1000 });
});

it("without access counters the contents alone tell", () => {
  const heap = new ScriptedHeap({ tools: ["alloc"] });
  heap.malloc(A, 1000);
  write(heap, A, 1000);
  outgrow(heap, A, 1000, B, 2000);
  expect(heap.profiled.heap.growth).toMatchObject({ chains: 1, copies: 1, copiedBytes: 1000 });
});

const PLACES: readonly Place[] = Array.from({ length: 5 }, (_, i) => ({
  address: 16_384 + i * 8192,
  room: 8192,
}));
const place = fc.integer({ min: 0, max: PLACES.length - 1 });
const site = fc.constantFrom(...SITES.slice(0, 2));
const size = fc.oneof(fc.constantFrom(100, 200, 500, 512, 600, 1000), fc.integer({ min: 1, max: 8192 }));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("malloc" as const), place, size, site }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("free" as const), place }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("realloc" as const), from: place, to: place, size, site }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("grow" as const),
      from: place,
      to: place,
      site,
      bytes: fc.constantFrom(0, 8, 200, 1000),
      moved: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("fill" as const, "walk" as const), place, bytes: size }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("load" as const, "store" as const),
      place,
      at: size,
      times: fc.integer({ min: 1, max: 60 }),
    }),
  },
);

describe.each([
  ["merged", {}],
  ["exact", { exactHistogram: true }],
] as const)("any sequence of blocks that grow, %s", (_name, options) => {
  it("has the chains, copies and capacities that the reference finds", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 100 }), (steps) => {
        const replay = new Replay(options, PLACES);
        for (const one of steps) replay.take(one);
        replay.releaseAll();
        replay.expectEqualContexts();
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 100), seed: Number(process.env.MEMSHADE_SEED ?? 5) },
    );
  });
});
