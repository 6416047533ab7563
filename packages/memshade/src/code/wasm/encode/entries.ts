import { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  type DataSegment,
  EXTERNAL_KINDS,
  type ExportEntry,
  type GlobalType,
  type Import,
  type MemoryType,
  type TableType,
} from "../types.ts";
import { writeGlobalType, writeMemoryType, writeTableType } from "./types.ts";

/*
 * Bytes of single entries, for `encodeVectorPayload` or `appendToVectorSection`. Constant expressions are given as
 * bytes with their final `end`.
 */

function encode(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(64);
  write(writer);
  return writer.finish();
}

export function encodeImportEntry(entry: Import): Uint8Array {
  return encode((writer) => {
    writer.name(entry.module).name(entry.field).u8(EXTERNAL_KINDS.indexOf(entry.kind));
    switch (entry.kind) {
      case "function":
        writer.u32Leb(entry.typeIndex);
        return;
      case "table":
        writeTableType(writer, entry.table);
        return;
      case "memory":
        writeMemoryType(writer, entry.memory);
        return;
      case "global":
        writeGlobalType(writer, entry.global);
        return;
      case "tag":
        writer.u8(0).u32Leb(entry.typeIndex);
    }
  });
}

export function encodeTableEntry(table: TableType, initial?: Uint8Array): Uint8Array {
  return encode((writer) => {
    if (initial !== undefined) writer.u8(0x40).u8(0);
    writeTableType(writer, table);
    if (initial !== undefined) writer.bytes(initial);
  });
}

export function encodeMemoryEntry(memory: MemoryType): Uint8Array {
  return encode((writer) => writeMemoryType(writer, memory));
}

export function encodeGlobalEntry(global: GlobalType, initial: Uint8Array): Uint8Array {
  return encode((writer) => {
    writeGlobalType(writer, global);
    writer.bytes(initial);
  });
}

export function encodeExportEntry(entry: ExportEntry): Uint8Array {
  return encode((writer) =>
    writer.name(entry.name).u8(EXTERNAL_KINDS.indexOf(entry.kind)).u32Leb(entry.index),
  );
}

export type DataContent = Pick<DataSegment, "flags" | "memory"> & {
  offset: Uint8Array | undefined;
  content: Uint8Array;
};

/** Returns the entry of the data section in the form that `flags` (0..2) selects. */
export function encodeDataEntry(segment: DataContent): Uint8Array {
  const writer = new ByteWriter(segment.content.length + 32);
  writer.u32Leb(segment.flags);
  if (segment.flags === 2) writer.u32Leb(segment.memory);
  if (segment.offset !== undefined) writer.bytes(segment.offset);
  return writer.vector(segment.content).finish();
}
