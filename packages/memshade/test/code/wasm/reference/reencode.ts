// Rebuilds modules from their decoded form: every section in its shortest encoding.

import {
  bytesOf,
  type CompositeType,
  decodeLocals,
  type ElementSegment,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  encodeVectorPayload,
  type FieldType,
  type LocalGroup,
  SectionId,
  type StorageType,
  type SubtypeInfo,
  type WasmModule,
  writeType,
} from "../../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../../src/ground/bytes/writer.ts";

/**
 * Writes the module from its decoded form. Every section except custom ones is rebuilt with the shortest encoding of all integers;
 * instructions are copied. The result is equivalent.
 */
export function reencodeModule(module: WasmModule): Uint8Array {
  const sections = new Map<number, Uint8Array>();
  for (const { id } of module.sections)
    if (id !== SectionId.Custom) sections.set(id, encodeDecodedSection(module, id));
  return encodeModule(module, { sections });
}

function encodeDecodedSection(module: WasmModule, id: number): Uint8Array {
  switch (id) {
    case SectionId.Type:
      return encodeTypePayload(module);
    case SectionId.Import:
      return encodeVectorPayload(module.imports.map(encodeImportEntry));
    case SectionId.Function:
      return encodeVectorPayload(module.functions.map(encodeFunctionEntry));
    case SectionId.Table:
      return encodeVectorPayload(
        module.tables.map((table) =>
          encodeTableEntry(table, table.initial === undefined ? undefined : bytesOf(module, table.initial)),
        ),
      );
    case SectionId.Memory:
      return encodeVectorPayload(module.memories.map(encodeMemoryEntry));
    case SectionId.Tag:
      return encodeVectorPayload(module.tags.map(({ typeIndex }) => encodeTagEntry(typeIndex)));
    case SectionId.Global:
      return encodeVectorPayload(
        module.globals.map((global) => encodeGlobalEntry(global, bytesOf(module, global.initial))),
      );
    case SectionId.Export:
      return encodeVectorPayload(module.exports.map(encodeExportEntry));
    case SectionId.Start:
      return encodeFunctionEntry(module.start as number);
    case SectionId.Element:
      return encodeElementPayload(module);
    case SectionId.DataCount:
      return encodeFunctionEntry(module.dataCount as number);
    case SectionId.Code:
      return encodeVectorPayload(
        module.bodies.map((body) =>
          encodeBody(decodeLocals(module, body), module.bytes.subarray(body.codeStart, body.end)),
        ),
      );
    default:
      return encodeDataPayload(module);
  }
}

function encodeTypePayload(module: WasmModule): Uint8Array {
  const writer = new ByteWriter(1024);
  writer.u32Leb(module.typeGroups.length);
  for (const { first, count, explicit } of module.typeGroups) {
    if (explicit) writer.u8(0x4e).u32Leb(count);
    for (let i = first; i < first + count; i++) writeTypeEntry(writer, module.types[i], module.subtypes[i]);
  }
  return writer.finish();
}

function encodeElementPayload(module: WasmModule): Uint8Array {
  return encodeVectorPayload(
    module.elements.map((segment) => {
      const { items } = segment;
      return encodeElementEntry({
        ...segment,
        offset: segment.offset === undefined ? undefined : bytesOf(module, segment.offset),
        items:
          items.kind === "functions"
            ? items
            : { kind: "expressions", expressions: items.expressions.map((range) => bytesOf(module, range)) },
      });
    }),
  );
}

function encodeDataPayload(module: WasmModule): Uint8Array {
  return encodeVectorPayload(
    module.data.map((segment) =>
      encodeDataEntry({
        ...segment,
        offset: segment.offset === undefined ? undefined : bytesOf(module, segment.offset),
        content: bytesOf(module, segment),
      }),
    ),
  );
}

export function writeTypes(writer: ByteWriter, types: readonly StorageType[]): void {
  writer.u32Leb(types.length);
  for (const type of types) writeType(writer, type);
}

function writeField(writer: ByteWriter, field: FieldType): void {
  writeType(writer, field.type);
  writer.u8(field.mutable ? 1 : 0);
}

/** Writes a type definition; in the short form if `subtype` is missing, or final without supertypes. */
export function writeTypeEntry(writer: ByteWriter, type: CompositeType, subtype?: SubtypeInfo): void {
  if (subtype !== undefined && !(subtype.final && subtype.supertypes.length === 0)) {
    writer.u8(subtype.final ? 0x4f : 0x50).u32Leb(subtype.supertypes.length);
    for (const supertype of subtype.supertypes) writer.u32Leb(supertype);
  }
  switch (type.kind) {
    case "func":
      writer.u8(0x60);
      writeTypes(writer, type.params);
      writeTypes(writer, type.results);
      return;
    case "struct":
      writer.u8(0x5f).u32Leb(type.fields.length);
      for (const field of type.fields) writeField(writer, field);
      return;
    case "array":
      writer.u8(0x5e);
      writeField(writer, type.field);
  }
}

/** Bytes of one entry of the type section: a type outside a recursion group. */
export function encodeTypeEntry(type: CompositeType, subtype?: SubtypeInfo): Uint8Array {
  const writer = new ByteWriter(32);
  writeTypeEntry(writer, type, subtype);
  return writer.finish();
}

export function encodeFunctionEntry(typeIndex: number): Uint8Array {
  return written((writer) => writer.u32Leb(typeIndex));
}

export function encodeTagEntry(typeIndex: number): Uint8Array {
  return written((writer) => writer.u8(0).u32Leb(typeIndex));
}

/** Content of an element segment, with expressions as bytes instead of ranges of a module. */
export type ElementContent = Pick<ElementSegment, "flags" | "table" | "type"> & {
  offset: Uint8Array | undefined;
  items:
    | { kind: "functions"; indices: readonly number[] }
    | { kind: "expressions"; expressions: readonly Uint8Array[] };
};

/** Entry of the element section in the form of `flags` (0..7). */
export function encodeElementEntry(segment: ElementContent): Uint8Array {
  const { flags, table, offset, items, type } = segment;
  return written((writer) => {
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

/** Entry of the code section: its size, the groups of locals, and the instructions with the final `end`. */
export function encodeBody(locals: readonly LocalGroup[], code: Uint8Array): Uint8Array {
  const writer = new ByteWriter(code.length + 32);
  return writer.sized(() => writeLocals(writer, locals).bytes(code)).finish();
}

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(64);
  write(writer);
  return writer.finish();
}

function writeLocals(writer: ByteWriter, locals: readonly LocalGroup[]): ByteWriter {
  writer.u32Leb(locals.length);
  for (const { count, type } of locals) {
    writer.u32Leb(count);
    writeType(writer, type);
  }
  return writer;
}
