import { readU32Leb, skipLeb32 } from "../../../bytes/leb128.ts";
import { ImmediateKind, skipImmediates } from "../../../wasm/index.ts";

/** Kinds of the catch clauses that name a tag. */
const WITH_TAG = 2;

/** The labels of a `br_table` with its immediates at `[start, end)`, its default last. */
export function tableLabels(bytes: Uint8Array, start: number, end: number): number[] {
  const labels: number[] = [];
  for (let at = start; at < end; at = skipLeb32(bytes, at)) labels.push(readU32Leb(bytes, at));
  return labels.slice(1);
}

/** Where the clauses of a `try_table` with its immediates at `start` lead, as seen from outside of it. */
export function catchLabels(bytes: Uint8Array, start: number): number[] {
  let at = skipImmediates(bytes, start, ImmediateKind.BlockType);
  const labels: number[] = [];
  const count = readU32Leb(bytes, at);
  at = skipLeb32(bytes, at);
  for (let i = 0; i < count; i++) {
    if (bytes[at++] < WITH_TAG) at = skipLeb32(bytes, at);
    labels.push(readU32Leb(bytes, at));
    at = skipLeb32(bytes, at);
  }
  return labels;
}
