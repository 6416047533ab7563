import { FEWEST_INDEX_ENTRIES, INDEX_ENTRY_BYTES, IndexHead } from "../layout.ts";

/**
 * Returns the size of a pair table of up to `entries` (a power of two). Each doubled table follows the previous one.
 */
export function indexTableBytes(entries: number): number {
  return 2 * entries * INDEX_ENTRY_BYTES;
}

/** Calls `visit` with the address of each entry of the current table, used or not. */
export function eachIndexEntry(view: DataView, index: number, visit: (at: number) => void): void {
  const count = view.getUint32(index + IndexHead.entries, true) || FEWEST_INDEX_ENTRIES;
  for (let i = count; i < 2 * count; i++) visit(index + i * INDEX_ENTRY_BYTES);
}
