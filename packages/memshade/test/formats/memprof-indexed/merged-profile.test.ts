import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../src/bytes/file-piece.ts";
import { joinChunks, writeIndexed, writeMerged } from "../../../src/formats/memprof-indexed/index.ts";
import { indexedProfileText, profileText } from "../../../src/formats/memprof-text/index.ts";
import {
  MemshadeProfile,
  memshadeProfilePieces,
  UNKNOWN_ORIGIN,
  writeMemshadeProfile,
} from "../../../src/formats/memshade-profile/index.ts";
import { pakoDeflate } from "../../../src/formats/memshade-profile/pako-deflate.ts";
import { HOT_COLD_FIELDS, ProfileMerger, viewMerged } from "../../../src/model/memprof/index.ts";
import { MIB_FIELDS, zeroMib } from "../../../src/model/mib-fields.ts";
import { nodeDeflate } from "../../../src/report/memprof/node-deflate.ts";

interface Context {
  readonly frames: readonly {
    readonly guid: bigint;
    readonly lineOffset: number;
    readonly column: number;
    readonly inline: boolean;
  }[];
  readonly count: number;
  readonly lifetime: bigint;
}

/** Few different frames, so that stacks share their ends, are parts of each other, and recur. */
const anyContext: fc.Arbitrary<Context> = fc.record({
  frames: fc.array(
    fc.record({
      guid: fc.constantFrom(3n, 7n, 2n ** 63n),
      lineOffset: fc.constantFrom(0, 9),
      column: fc.nat(1),
      inline: fc.boolean(),
    }),
    { minLength: 1, maxLength: 9 },
  ),
  count: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  lifetime: fc.oneof(fc.bigInt({ min: 0n, max: 1000n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
});

function mergerOf(contexts: readonly Context[]): ProfileMerger {
  const merger = new ProfileMerger(MIB_FIELDS, false);
  for (const { frames, count, lifetime } of contexts) {
    const stack = frames.reduceRight(
      (outer, frame) => merger.stacks.child(outer, merger.frames.intern(frame)),
      0,
    );
    const known = merger.contexts.length;
    const row = merger.contexts.rowOf(stack);
    const mib = { ...zeroMib(), allocCount: count, totalLifetime: lifetime };
    merger.blocks.addMib(mib, row, row === known, 0);
    if (count % 3 === 0) merger.addHistogram(row, BigUint64Array.of(BigInt(count), lifetime));
    // Calls on the way, one of them perhaps without any frame at all.
    for (const { guid } of frames.slice(2)) merger.callSites.add(guid, stack, [BigInt(count)]);
    if (frames.length > 8) merger.callSites.add(7n, 0, undefined);
  }
  return merger;
}

describe("what was merged", () => {
  it("is written out of the merger's own tables as it is written of the built profile", () => {
    fc.assert(
      fc.property(
        fc.array(anyContext, { maxLength: 60 }),
        fc.constantFrom(2 as const, 3 as const, 4 as const),
        fc.constantFrom(HOT_COLD_FIELDS, MIB_FIELDS),
        (contexts, version, schema) => {
          const options = { version, container: 13, schema, order: "stored" } as const;
          const built = mergerOf(contexts).build().profile;
          const written = writeMerged(mergerOf(contexts), options);
          expect(written.contexts).toBe(built.blocks.length);
          expect(written.functions).toBe(built.records.length);
          expect(joinChunks(written.chunks)).toEqual(joinChunks(writeIndexed(built, options)));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("is written as YAML and as a memshade profile as the built profile is", () => {
    fc.assert(
      fc.property(fc.array(anyContext, { maxLength: 60 }), (contexts) => {
        const built = mergerOf(contexts).build().profile;
        const text = [...profileText(viewMerged(mergerOf(contexts)))].join("");
        expect(text).toBe([...indexedProfileText(built)].join(""));
        const view = viewMerged(mergerOf(contexts));
        const written = joinPieces(memshadeProfilePieces(view, UNKNOWN_ORIGIN, pakoDeflate));
        expect(written).toEqual(writeMemshadeProfile(built));
        const { columns, histograms } = new MemshadeProfile(written).whole().blocks;
        expect(columns.slice(0, 25)).toEqual(built.blocks.columns.slice(0, 25));
        expect(histograms).toEqual(built.blocks.histograms);
      }),
      { numRuns: 200 },
    );
  });

  it("is packed in pieces where it is large, and unpacks to the same whoever packed it", () => {
    const contexts = Array.from({ length: 60_000 }, (_, index) => ({
      frames: Array.from({ length: 10 }, (_, depth) => ({
        guid: BigInt(depth),
        lineOffset: depth < 9 ? index % (depth + 2) : index,
        column: (index * 7 + depth) % 5,
        inline: depth === 0,
      })),
      count: 1 + index,
      lifetime: BigInt(index),
    }));
    const built = mergerOf(contexts).build().profile;
    const view = viewMerged(mergerOf(contexts));
    for (const deflate of [nodeDeflate, pakoDeflate]) {
      const file = joinPieces(memshadeProfilePieces(view, UNKNOWN_ORIGIN, deflate));
      const { stacks, records, blocks } = new MemshadeProfile(file, nodeDeflate).whole();
      expect(Buffer.from(stacks.parent.buffer).equals(Buffer.from(built.stacks.parent.buffer))).toBe(true);
      expect(records.allocBlock).toEqual(built.records.allocBlock);
      expect(blocks.columns[0]).toEqual(built.blocks.columns[0]);
    }
    expect(2 * built.stacks.length).toBeGreaterThan(2 ** 20);
  });

  it("is the same with so many frames that their numbers take four bytes", () => {
    const contexts = Array.from({ length: 40_000 }, (_, index) => ({
      frames: [0, 1, 2].map((depth) => ({
        guid: BigInt(index % 500),
        lineOffset: index * (depth === 2 ? 0 : 1),
        column: depth,
        inline: depth === 0,
      })),
      count: 1 + index,
      lifetime: BigInt(index) << 30n,
    }));
    const options = { version: 3, container: 13, schema: HOT_COLD_FIELDS, order: "stored" } as const;
    const whole = joinChunks(writeIndexed(mergerOf(contexts).build().profile, options));
    expect(Buffer.from(joinChunks(writeMerged(mergerOf(contexts), options).chunks)).equals(whole)).toBe(true);
  });
});
