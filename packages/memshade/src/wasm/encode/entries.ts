import { ByteWriter } from "../../bytes/writer.ts";
import {
  type DataSegment,
  type ElementSegment,
  EXTERNAL_KINDS,
  type ExportEntry,
  type GlobalType,
  type Import,
  type LocalGroup,
  type MemoryType,
  type TableType,
} from "../types.ts";
import { writeGlobalType, writeMemoryType, writeTableType, writeType } from "./types.ts";

/*
 * Bytes of single entries, to be put in sections with `encodeVectorPayload` or `appendToVectorSection`.
 * Constant expressions are given as bytes with their final `end`.
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

/** Entry of the function section. */
export function encodeFunctionEntry(typeIndex: number): Uint8Array {
  return encode((writer) => writer.u32Leb(typeIndex));
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

export function encodeTagEntry(typeIndex: number): Uint8Array {
  return encode((writer) => writer.u8(0).u32Leb(typeIndex));
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

/** What an element segment holds, with its expressions as bytes instead of ranges of a module. */
export type ElementContent = Pick<ElementSegment, "flags" | "table" | "type"> & {
  offset: Uint8Array | undefined;
  items:
    | { kind: "functions"; indices: readonly number[] }
    | { kind: "expressions"; expressions: readonly Uint8Array[] };
};

/** Entry of the element section in the form that `flags` (0..7) names. */
export function encodeElementEntry(segment: ElementContent): Uint8Array {
  const { flags, table, offset, items, type } = segment;
  return encode((writer) => {
    writer.u32Leb(flags);
    if ((flags & 3) === 2) writer.u32Leb(table);
    if (offset !== undefined) writer.bytes(offset);
    if (items.kind === "functions") {
      if ((flags & 3) !== 0) writer.u8(0);
      writer.u32Leb(items.indices.length);
      for (const index of items.indices) writer.u32Leb(index);
      return;
    }
    if ((flags & 3) !== 0) writeType(writer, type);
    writer.u32Leb(items.expressions.length);
    for (const expression of items.expressions) writer.bytes(expression);
  });
}

/** What a data segment holds, with its offset expression and content as bytes. */
export type DataContent = Pick<DataSegment, "flags" | "memory"> & {
  offset: Uint8Array | undefined;
  content: Uint8Array;
};

/** Entry of the data section in the form that `flags` (0..2) names. */
export function encodeDataEntry(segment: DataContent): Uint8Array {
  const writer = new ByteWriter(segment.content.length + 32);
  writer.u32Leb(segment.flags);
  if (segment.flags === 2) writer.u32Leb(segment.memory);
  if (segment.offset !== undefined) writer.bytes(segment.offset);
  return writer.vector(segment.content).finish();
}

/** Entry of the code section: its size, the groups of locals and the instructions with the final `end`. */
export function encodeBody(locals: readonly LocalGroup[], code: Uint8Array): Uint8Array {
  const writer = new ByteWriter(code.length + 32);
  return writer.sized(() => writeLocals(writer, locals).bytes(code)).finish();
}

/** Writes a body's vector of locals. */
export function writeLocals(writer: ByteWriter, locals: readonly LocalGroup[]): ByteWriter {
  writer.u32Leb(locals.length);
  for (const { count, type } of locals) {
    writer.u32Leb(count);
    writeType(writer, type);
  }
  return writer;
}
