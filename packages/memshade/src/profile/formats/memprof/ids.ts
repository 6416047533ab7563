import { blake3 } from "@noble/hashes/blake3.js";
import type { MemprofFrames } from "../../model/memprof/index.ts";

const FRAME_BYTES = 17;

export function blake3Of64Bits(bytes: Uint8Array): bigint {
  const digest = blake3(bytes, { dkLen: 8 });
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0, true);
}

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

/** Returns the id of a call stack: the hash of its frame ids, leaf first. */
export function callStackId(ids: readonly bigint[]): bigint {
  return blake3Of64Bits(new Uint8Array(BigUint64Array.from(ids).buffer));
}
