import { SUM_WORDS } from "../layout.ts";

const SUM_FACTOR = 0x9e3779b1;

/**
 * What tells files of one kind from each other, and whole ones from damaged ones: `SUM_WORDS` words, little-endian. Bytes behind the last
 * multiple of four are not looked at. `assembly/sum.ts` adds up the same.
 */
export function sumOf(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = new Uint32Array(SUM_WORDS);
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const i = (at >>> 2) % SUM_WORDS;
    const mixed = words[i] ^ view.getUint32(at, true);
    words[i] = Math.imul((mixed << 13) | (mixed >>> 19), SUM_FACTOR) + 1;
  }
  return new Uint8Array(words.buffer);
}

export const SUM_BYTES = 4 * SUM_WORDS;

/** Whether bytes have this sum. */
export function hasSum(bytes: Uint8Array, sum: Uint8Array): boolean {
  return Buffer.compare(sumOf(bytes), sum) === 0;
}
