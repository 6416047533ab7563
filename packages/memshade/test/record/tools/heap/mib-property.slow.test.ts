import fc from "fast-check";
import { describe, it } from "vitest";
import { Replay, type Step } from "./support/replay.ts";
import { SITES } from "./support/scripted-heap.ts";

/** Possible block addresses, with the room at each: small ones side by side, a few large ones, and both at a region's end. */
const PLACES = [
  ...Array.from({ length: 8 }, (_, i) => ({ address: 4096 + i * 8, room: 8 })),
  ...Array.from({ length: 12 }, (_, i) => ({ address: 8192 + i * 128, room: 128 })),
  ...Array.from({ length: 6 }, (_, i) => ({ address: 16_384 + i * 4096, room: 4096 })),
  { address: 131_072 - 1040, room: 1024 },
  { address: 131_072 - 16, room: 40 },
  { address: 131_072 + 24, room: 16 },
];

const place = fc.integer({ min: 0, max: PLACES.length - 1 });
const site = fc.constantFrom(...SITES);
/** Scaled to a size or an offset inside the place. A few sizes repeat often, so that blocks are alike. */
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
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("grow" as const),
      from: place,
      to: place,
      bytes: fc.constantFrom(0, 8, 512),
      moved: fc.boolean(),
      site,
    }),
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

describe.each([
  ["merged", {}],
  ["exact", { exactHistogram: true }],
  ["with room for 8 blocks", { maxBlocks: 8 }],
  ["with room for 16 blocks", { maxBlocks: 16 }],
] as const)("any sequence of allocations, releases and accesses, %s", (_name, options) => {
  it("has the figures that the reference gives, all fields of all contexts", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 120 }), (steps) => {
        const replay = new Replay(options, PLACES);
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
