import type { MemoryRange } from "../../../tools/unused-tables.ts";
import { PIECE_BYTES } from "../messages.ts";

const PAGE_BYTES = 4096;
/** Runs of one message, at most. */
const MOST_RUNS = 4096;

/** Contents of a memory: pairs of address and length, and the bytes one after the other. */
export type SendRuns = (runs: readonly number[], bytes: Uint8Array) => void;

/** Sends what a memory holds in parts that begin and end at multiples of 4; pages that are zero are left out. */
export function sendMemory(buffer: ArrayBufferLike, parts: readonly MemoryRange[], send: SendRuns): void {
  const bytes = new Uint8Array(buffer);
  // As integers: a zero with a sign is not one, and neither is what is no number.
  const words = new Uint32Array(buffer);
  let runs: number[] = [];
  let length = 0;
  const flush = (): void => {
    if (runs.length === 0) return;
    const piece = new Uint8Array(length);
    for (let i = 0, at = 0; i < runs.length; at += runs[i + 1], i += 2)
      piece.set(bytes.subarray(runs[i], runs[i] + runs[i + 1]), at);
    send(runs, piece);
    runs = [];
    length = 0;
  };
  for (const [from, to] of parts)
    for (let at = from; at < to; ) {
      const end = Math.min(to, at - (at % PAGE_BYTES) + PAGE_BYTES);
      if (!isZero(words, at / 4, end / 4)) {
        const last = runs.length - 2;
        if (last >= 0 && runs[last] + runs[last + 1] === at) runs[last + 1] += end - at;
        else runs.push(at, end - at);
        length += end - at;
        if (length + PAGE_BYTES > PIECE_BYTES || runs.length >= MOST_RUNS * 2) flush();
      }
      at = end;
    }
  flush();
}

function isZero(words: Uint32Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (words[i] !== 0) return false;
  return true;
}
