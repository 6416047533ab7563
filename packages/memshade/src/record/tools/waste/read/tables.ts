import type { WasteDescription } from "../description.ts";
import { Control } from "../layout.ts";

const PAGE_BYTES = 65536;

/** The tool's memories in one instance, and what the module says of them. */
export interface WasteTables {
  view: DataView;
  /** Further memories, in the order of `WORD_TABLES`. */
  further: readonly WebAssembly.Memory[];
  description: WasteDescription;
}

/** A word of the control block. */
export function controlWord({ view, description }: WasteTables, field: number): number {
  return view.getUint32(description.control + field, true);
}

/** Bytes of the program's memory that there are and that are followed. */
export function coveredNow(tables: WasteTables): number {
  return Math.min(controlWord(tables, Control.pages) * PAGE_BYTES, tables.description.covered);
}

/** Whether a set with a bit per site has one. */
export function has(set: Uint8Array, index: number): boolean {
  return (set[index >>> 3] & (1 << (index & 7))) !== 0;
}

/** A count of 64 bits; those beyond 2^53 are not exact. */
export function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
