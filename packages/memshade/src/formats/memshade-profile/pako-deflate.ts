import { deflateRaw, Inflate } from "pako";
import type { Deflate } from "./layout.ts";

/** Packing that works everywhere; programs for Node pass in its own, which is faster. */
export const pakoDeflate: Deflate = {
  pack: (bytes) => deflateRaw(bytes, { level: 9 }),
  unpack: (bytes, sizeBytes) => {
    const stream = new Inflate({ raw: true, chunkSize: Math.min(sizeBytes + 1, 1 << 16) });
    const plain = new Uint8Array(sizeBytes);
    let filled = 0;
    stream.onData = (chunk) => {
      if (filled + chunk.length > sizeBytes) throw new RangeError("more data than announced");
      plain.set(chunk, filled);
      filled += chunk.length;
    };
    stream.push(bytes, true);
    if (stream.err !== 0 || filled !== sizeBytes) throw new RangeError("damaged data");
    return plain;
  },
};
