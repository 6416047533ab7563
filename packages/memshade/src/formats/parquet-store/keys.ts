import { sha256 } from "@noble/hashes/sha2.js";
import type { MemprofFrame } from "../../model/memprof/index.ts";

/** What a frame's key is made of: what LLVM knows of it. */
type KeyedFrame = Pick<MemprofFrame, "guid" | "lineOffset" | "column" | "inline">;

const ENCODER = new TextEncoder();

/** The first 8 bytes, little-endian, of SHA-256 over a text, as a signed number: all engines have such. */
export function keyOf(text: string): bigint {
  const digest = sha256(ENCODER.encode(text));
  return new DataView(digest.buffer, digest.byteOffset).getBigInt64(0, true);
}

/** Survives rebuilds, and lines that are added outside of the function. */
export function frameKey({ guid, lineOffset, column, inline }: KeyedFrame): bigint {
  return keyOf(`${guid} ${lineOffset} ${column} ${inline ? 1 : 0}`);
}

/** Of the innermost frame of a context. */
export function siteKey({ guid, lineOffset, column }: KeyedFrame): bigint {
  return keyOf(`${guid} ${lineOffset} ${column}`);
}

/** @param frames keys, innermost first */
export function contextKey(frames: readonly bigint[]): bigint {
  return keyOf(frames.join(" "));
}

/** Survives lines that move inside of functions too. */
export function functionsKey(guids: readonly bigint[]): bigint {
  return keyOf(guids.join(" "));
}
