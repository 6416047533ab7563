import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Deflate } from "../../formats/memshade-profile/index.ts";

/** Node's own packing, much faster than the one that works everywhere. */
export const nodeDeflate: Deflate = {
  pack: (bytes) => deflateRawSync(bytes, { level: 9 }),
  unpack: (bytes, sizeBytes) => {
    const plain = inflateRawSync(bytes, { maxOutputLength: Math.max(1, sizeBytes) });
    if (plain.length !== sizeBytes) throw new RangeError("not of the announced size");
    return plain;
  },
};
