// Bytes of entries of sections, beside those that `src/wasm/encode` has: whole modules are built by tests only.
import { ByteWriter } from "../../src/bytes/writer.ts";
import {
  type CompositeType,
  type ElementSegment,
  type FieldType,
  type LocalGroup,
  type StorageType,
  type SubtypeInfo,
  writeType,
} from "../../src/wasm/index.ts";

function encode(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(64);
  write(writer);
  return writer.finish();
}

/** Bytes of one entry of the type section: a type outside a recursion group. */
export function encodeTypeEntry(type: CompositeType, subtype?: SubtypeInfo): Uint8Array {
  const writer = new ByteWriter(32);
  writeTypeEntry(writer, type, subtype);
  return writer.finish();
}

/** Writes a type definition. Without `subtype`, or with a final one without supertypes, the short form. */
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

function writeField(writer: ByteWriter, field: FieldType): void {
  writeType(writer, field.type);
  writer.u8(field.mutable ? 1 : 0);
}

/** Entry of the function section. */
export function encodeFunctionEntry(typeIndex: number): Uint8Array {
  return encode((writer) => writer.u32Leb(typeIndex));
}

export function encodeTagEntry(typeIndex: number): Uint8Array {
  return encode((writer) => writer.u8(0).u32Leb(typeIndex));
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

/** Entry of the code section: its size, the groups of locals and the instructions with the final `end`. */
export function encodeBody(locals: readonly LocalGroup[], code: Uint8Array): Uint8Array {
  const writer = new ByteWriter(code.length + 32);
  return writer.sized(() => writeLocals(writer, locals).bytes(code)).finish();
}

/** Writes a body's vector of locals. */
function writeLocals(writer: ByteWriter, locals: readonly LocalGroup[]): ByteWriter {
  writer.u32Leb(locals.length);
  for (const { count, type } of locals) {
    writer.u32Leb(count);
    writeType(writer, type);
  }
  return writer;
}

export function writeTypes(writer: ByteWriter, types: readonly StorageType[]): void {
  writer.u32Leb(types.length);
  for (const type of types) writeType(writer, type);
}
