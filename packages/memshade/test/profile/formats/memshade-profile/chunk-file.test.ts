import { inflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteWriter } from "../../../../src/ground/bytes/writer.ts";
import { nodeDeflate } from "../../../../src/names/memprof/input-merger.ts";
import { type PackedChunk, packChunk } from "../../../../src/profile/formats/memshade-profile/chunk-file.ts";
import { PACKING, PIECE_BYTES } from "../../../../src/profile/formats/memshade-profile/layout.ts";

function pack(parts: readonly Uint8Array[]): PackedChunk & { readonly stored: Buffer } {
  const writer = new ByteWriter();
  function* write() {
    for (const part of parts) {
      writer.bytes(part);
      yield;
    }
  }
  const stored: Buffer[] = [];
  const packing = packChunk(writer, write, nodeDeflate);
  for (let piece = packing.next(); ; piece = packing.next()) {
    if (piece.done === true) return { ...piece.value, stored: Buffer.concat(stored) };
    stored.push(Buffer.from(piece.value));
  }
}

describe("a chunk", () => {
  it("is packed alike, wherever its writer stops", () => {
    const size = fc.oneof(
      fc.nat(100),
      fc.integer({ min: PIECE_BYTES - 2, max: PIECE_BYTES + 2 }),
      fc.nat(900_000),
    );
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
    fc.assert(
      fc.property(size, cuts, (length, where) => {
        const content = Uint8Array.from({ length }, (_, at) => (at * at) >> 7);
        const places = [0, ...where.map((part) => Math.floor(part * length)).sort((a, b) => a - b), length];
        const parts = places.slice(1).map((end, index) => content.subarray(places[index]!, end));
        const packed = pack(parts);
        expect(packed).toEqual(pack([content]));
        expect([packed.plainBytes, packed.storedBytes]).toEqual([length, packed.stored.length]);
        const plain = packed.packing === PACKING.deflate ? inflateRawSync(packed.stored) : packed.stored;
        expect(plain.equals(content)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});
