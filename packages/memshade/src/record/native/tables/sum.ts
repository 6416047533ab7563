import { viewOf } from "../../../ground/bytes/numbers.ts";
import { SUM_WORDS } from "../layout.ts";

const SUM_FACTOR = 0x9e3779b1;

/**
 * Computes the sum that identifies files of one kind and detects damage: `SUM_WORDS` words, little-endian.
 * Bytes after the last multiple of four are ignored. `assembly/sum.ts` computes the same sum.
 */
export function sumOf(bytes: Uint8Array): Uint8Array {
  const view = viewOf(bytes);
  const words = new Uint32Array(SUM_WORDS);
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const i = (at >>> 2) % SUM_WORDS;
    const mixed = words[i] ^ view.getUint32(at, true);
    words[i] = Math.imul((mixed << 13) | (mixed >>> 19), SUM_FACTOR) + 1;
  }
  return new Uint8Array(words.buffer);
}

export const SUM_BYTES = 4 * SUM_WORDS;

export function hasSum(bytes: Uint8Array, sum: Uint8Array): boolean {
  return Buffer.compare(sumOf(bytes), sum) === 0;
}
