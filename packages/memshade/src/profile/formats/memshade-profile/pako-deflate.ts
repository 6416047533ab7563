/// <reference path="../pako.d.ts" />
import { Inflate, Deflate as PakoDeflate } from "pako";
import type { Deflate } from "./layout.ts";

/** Portable DEFLATE. Programs for Node pass in Node's own, which is faster. */
export const pakoDeflate: Deflate = {
  *pack(pieces) {
    const stream = new PakoDeflate({ raw: true, level: 9 });
    let ready: Uint8Array[] = [];
    stream.onData = (packed) => ready.push(packed);
    for (const piece of pieces) {
      stream.push(piece, false);
      yield* ready;
      ready = [];
    }
    stream.push(new Uint8Array(0), true);
    yield* ready;
  },
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
