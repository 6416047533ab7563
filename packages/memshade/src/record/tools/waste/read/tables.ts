import type { WasteDescription } from "../description.ts";
import { Control } from "../layout.ts";

const PAGE_BYTES = 65536;

/** Memories of the tool in one instance, and the module's description. */
export interface WasteTables {
  view: DataView;
  /** Further memories, in the order of `WORD_TABLES`. */
  further: readonly WebAssembly.Memory[];
  description: WasteDescription;
}

export function controlWord({ view, description }: WasteTables, field: number): number {
  return view.getUint32(description.control + field, true);
}

export function coveredNow(tables: WasteTables): number {
  return Math.min(controlWord(tables, Control.pages) * PAGE_BYTES, tables.description.covered);
}

export function hasBit(set: Uint8Array, index: number): boolean {
  return (set[index >>> 3] & (1 << (index & 7))) !== 0;
}

/** Reads a count of 64 bits. Counts above 2^53 are not exact. */
export function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
