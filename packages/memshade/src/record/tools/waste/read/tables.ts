import { WASM_PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import type { WasteDescription } from "../description.ts";
import { Control } from "../layout.ts";

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
  return Math.min(controlWord(tables, Control.pages) * WASM_PAGE_BYTES, tables.description.covered);
}

export function hasBit(set: Uint8Array, index: number): boolean {
  return (set[index >>> 3] & (1 << (index & 7))) !== 0;
}
