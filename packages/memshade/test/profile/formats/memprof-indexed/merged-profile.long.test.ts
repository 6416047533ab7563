import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { nodeDeflate } from "../../../../src/names/memprof/input-merger.ts";
import { writeIndexed, writeMerged } from "../../../../src/profile/formats/memprof-indexed/index.ts";
import { indexedProfileText, profileText } from "../../../../src/profile/formats/memprof-text/index.ts";
import {
  MemshadeProfile,
  memshadeProfilePieces,
} from "../../../../src/profile/formats/memshade-profile/index.ts";
import { pakoDeflate } from "../../../../src/profile/formats/memshade-profile/pako-deflate.ts";
import { HOT_COLD_FIELDS, viewMerged } from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { UNKNOWN_ORIGIN, writeMemshadeProfile } from "../../../support/whole.ts";
import { anyContext, mergerOf } from "./contexts.ts";

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
          expect(joinPieces(written.chunks)).toEqual(joinPieces(writeIndexed(built, options)));
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
    const whole = joinPieces(writeIndexed(mergerOf(contexts).build().profile, options));
    expect(Buffer.from(joinPieces(writeMerged(mergerOf(contexts), options).chunks)).equals(whole)).toBe(true);
  });
});
