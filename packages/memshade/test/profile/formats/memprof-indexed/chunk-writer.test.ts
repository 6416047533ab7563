import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { ChunkWriter } from "../../../../src/profile/formats/memprof-indexed/chain-array.ts";

describe("a writer of chunks", () => {
  it("grows while a value is written that has to stay in one piece with many others", () => {
    const writer = new ChunkWriter();
    const count = 200_000;
    for (let value = 0; value < count; value++) writer.u8(1).u16(value).u32(value).u64s(value);
    const bytes = joinPieces(writer.finish());
    const view = new DataView(bytes.buffer);
    expect(bytes.length).toBe(15 * count);
    for (let value = 0; value < count; value += 997) {
      expect(view.getUint16(15 * value + 1, true)).toBe(value & 0xffff);
      expect(view.getUint32(15 * value + 3, true)).toBe(value);
      expect(view.getBigUint64(15 * value + 7, true)).toBe(BigInt(value));
    }
  });
});
