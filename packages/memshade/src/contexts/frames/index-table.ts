/** Bytes of an entry of the table of pairs in `contexts/assembly/frames/tree.ts`. */
const ENTRY_BYTES = 16;
/** Entries that it begins with. */
const FEWEST_ENTRIES = 1024;

/** Bytes for a table of up to `entries` (a power of two), each time it doubles behind the one before. */
export function indexTableBytes(entries: number): number {
  return 2 * entries * ENTRY_BYTES;
}

/** Calls `visit` with the address of each entry that the table at `index` has at present, taken or not. */
export function eachIndexEntry(view: DataView, index: number, visit: (at: number) => void): void {
  const count = view.getUint32(index, true) || FEWEST_ENTRIES;
  for (let i = count; i < 2 * count; i++) visit(index + i * ENTRY_BYTES);
}
