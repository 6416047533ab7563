import { Cursor, readInitialLength } from "../cursor.ts";

/** `.debug_aranges` (DWARF 5, section 6.1.2). */
export function readAddressRanges(
  section: Uint8Array | undefined,
  described: Set<number>,
  add: (unit: number, low: number, high: number) => void,
): void {
  if (section === undefined) return;
  for (let offset = 0; offset < section.length; ) {
    const cursor = new Cursor(section, offset, ".debug_aranges");
    const { length, dwarf64 } = readInitialLength(cursor);
    const end = cursor.position + length;
    cursor.skip(2);
    const unit = cursor.unsigned(dwarf64 ? 8 : 4);
    const addressSize = cursor.u8();
    cursor.skip(1);
    const entrySize = addressSize * 2;
    const header = cursor.position - offset;
    cursor.skip((entrySize - (header % entrySize)) % entrySize);
    while (cursor.position + entrySize <= end) {
      const low = cursor.unsigned(addressSize);
      const size = cursor.unsigned(addressSize);
      if (low === 0 && size === 0) break;
      add(unit, low, low + size);
    }
    described.add(unit);
    offset = end;
  }
}
