import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { SectionId } from "../sections.ts";

export function writeCustomSection(writer: ByteWriter, name: string, content: Uint8Array): void {
  writer.u8(SectionId.Custom).sized(() => writer.name(name).bytes(content));
}

/** Returns the payload of a section that is a vector: the number of entries, then their bytes. */
export function encodeVectorPayload(entries: readonly Uint8Array[]): Uint8Array {
  const writer = new ByteWriter(entries.reduce((sum, entry) => sum + entry.length, 5));
  writer.u32Leb(entries.length);
  for (const entry of entries) writer.bytes(entry);
  return writer.finish();
}

/**
 * Returns the payload of a vector section with more entries at its end. The bytes of the present entries are
 * copied unchanged; only the count differs.
 *
 * @param payload the section's payload (`payloadStart` to `payloadEnd`); undefined if there is no such
 * section
 */
export function appendToVectorSection(
  payload: Uint8Array | undefined,
  countDelta: number,
  newEntries: Uint8Array,
): Uint8Array {
  const present = payload ?? Uint8Array.of(0);
  const writer = new ByteWriter(present.length + newEntries.length + 5);
  writer.u32Leb(readU32Leb(present, 0) + countDelta);
  return writer.range(present, skipLeb32(present, 0), present.length).bytes(newEntries).finish();
}
