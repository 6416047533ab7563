import { blake3 } from "@noble/hashes/blake3.js";
import type { MemprofFrames } from "../../model/memprof/index.ts";

const FRAME_BYTES = 17;

/** The first eight bytes of the BLAKE3 hash, as a little-endian u64. */
export function blake3Of64Bits(bytes: Uint8Array): bigint {
  const digest = blake3(bytes, { dkLen: 8 });
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0, true);
}

/** Ids of frames: hashes of their stored form. */
export function frameIds(frames: MemprofFrames): BigUint64Array {
  const stored = new Uint8Array(FRAME_BYTES);
  const view = new DataView(stored.buffer);
  return BigUint64Array.from({ length: frames.length }, (_, index) => {
    view.setBigUint64(0, frames.guid[index]!, true);
    view.setUint32(8, frames.lineOffset[index]!, true);
    view.setUint32(12, frames.column[index]!, true);
    stored[16] = frames.inline[index]!;
    return blake3Of64Bits(stored);
  });
}

/** Id of a call stack: the hash of its frame ids, leaf first. */
export function callStackId(ids: readonly bigint[]): bigint {
  return blake3Of64Bits(new Uint8Array(BigUint64Array.from(ids).buffer));
}

/** A frame in what LLVM's compiler keeps in metadata: without the inline mark. */
export function stackId(guid: bigint, lineOffset: number, column: number): bigint {
  return fullStackId([{ guid, lineOffset, column }]);
}

/** Id of a full call stack as match reports print it. Frames leaf first. */
export function fullStackId(frames: readonly { guid: bigint; lineOffset: number; column: number }[]): bigint {
  const bytes = new Uint8Array(frames.length * 16);
  const view = new DataView(bytes.buffer);
  for (const [index, { guid, lineOffset, column }] of frames.entries()) {
    view.setBigUint64(index * 16, guid, true);
    view.setUint32(index * 16 + 8, lineOffset, true);
    view.setUint32(index * 16 + 12, column, true);
  }
  return blake3Of64Bits(bytes);
}
