import { constants, createZstdDecompress, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decompressByStream,
  decompressInPlace,
  nodeZstd,
} from "../../../../src/names/stacks/recordings/named-samples.ts";
import type { Decompressor } from "../../../../src/profile/formats/perf-data/index.ts";

/** Decompressors, with the frames that each reads. perf writes one frame; Node's stream stops after an empty one. */
const WAYS: [string, () => Decompressor | undefined, frames: number][] = [
  ["in place", () => decompressInPlace(createZstdDecompress()), 3],
  ["by a stream", () => decompressByStream(createZstdDecompress()), 1],
];

/** Output of a stream that arrives in pieces, written into buffers of a size. */
async function decompress(zstd: Decompressor, pieces: readonly Uint8Array[], roomBytes: number) {
  const out: Uint8Array[] = [];
  for (const piece of pieces)
    for (let from = 0, isFull = true; from < piece.length || isFull; ) {
      const room = new Uint8Array(roomBytes);
      const { read, written } = await zstd(piece.subarray(from), room);
      out.push(room.subarray(0, written));
      from += read;
      isFull = written === roomBytes;
      if (read === 0 && written === 0) break;
    }
  return Buffer.concat(out);
}

/** Text that compresses as stacks do: much of it repeats. */
const content = fc
  .array(fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 2000 })), { maxLength: 20 })
  .map((parts) => Buffer.concat(parts.flatMap(([bytes, zeros]) => [bytes, new Uint8Array(zeros), bytes])));

describe.each(WAYS)("zstd decompressed %s", (_, make, mostFrames) => {
  it("is what was compressed, wherever the stream is cut and however small the room is", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(content, { minLength: 1, maxLength: mostFrames }),
        fc.array(fc.nat(), { maxLength: 5 }),
        fc.integer({ min: 1, max: 5000 }),
        async (frames, places, roomBytes) => {
          const stream = Buffer.concat(frames.map((frame) => zstdCompressSync(frame)));
          const cuts = [0, ...places.map((place) => place % stream.length), stream.length];
          cuts.sort((one, other) => one - other);
          const pieces = cuts.slice(1).map((end, index) => stream.subarray(cuts[index], end));
          expect(await decompress(make()!, pieces, roomBytes)).toEqual(Buffer.concat(frames));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("fails where the stream is damaged, and from then on", async () => {
    const stream = zstdCompressSync(Buffer.alloc(5000, "memory "), {
      params: { [constants.ZSTD_c_checksumFlag]: 1 },
    });
    stream[stream.length - 1]! ^= 1;
    const zstd = make()!;
    await expect(decompress(zstd, [stream], 6000)).rejects.toThrow("checksum");
    await expect(decompress(zstd, [stream], 6000)).rejects.toThrow("checksum");
  });
});

describe("zstd of Node", () => {
  it("goes in place in Node as we know it", () => {
    expect(decompressInPlace(createZstdDecompress())).toBeDefined();
  });

  it("goes by a stream where streams have nothing else", async () => {
    const stream = Object.create(createZstdDecompress(), { _handle: { value: null } });
    expect(decompressInPlace(stream)).toBeUndefined();
    const whole = zstdCompressSync(Buffer.from("as documented"));
    expect((await decompress(nodeZstd(), [whole], 100)).toString()).toBe("as documented");
  });
});
