import { FormatError } from "../../../ground/bytes/errors.ts";
import type { ByteReader } from "../../../ground/bytes/reader.ts";
import type { CompositeType, FieldType, SubtypeInfo, WasmModule } from "../types.ts";
import { readFlag, readStorageType, readValTypes } from "./value-types.ts";

const FUNC = 0x60;
const STRUCT = 0x5f;
const ARRAY = 0x5e;
const SUB = 0x50;
const SUB_FINAL = 0x4f;
const REC = 0x4e;

/** Reads the type section and expands its recursion groups into one index space. */
export function decodeTypeSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("type section");
  for (let i = 0; i < count; i++) {
    const first = module.types.length;
    const explicit = !reader.atEnd && reader.bytes[reader.position] === REC;
    let members = 1;
    if (explicit) {
      reader.skip(1);
      members = reader.vectorCount("recursion group");
    }
    for (let member = 0; member < members; member++) {
      module.subtypes.push(readSubtypeInfo(reader));
      module.types.push(readCompositeType(reader));
    }
    module.typeGroups.push({ first, count: members, explicit });
  }
}

function readSubtypeInfo(reader: ByteReader): SubtypeInfo {
  const byte = reader.bytes[reader.position];
  if (reader.atEnd || (byte !== SUB && byte !== SUB_FINAL)) return { final: true, supertypes: [] };
  reader.skip(1);
  const count = reader.vectorCount("supertypes");
  const supertypes: number[] = [];
  for (let i = 0; i < count; i++) supertypes.push(reader.u32Leb());
  return { final: byte === SUB_FINAL, supertypes };
}

function readCompositeType(reader: ByteReader): CompositeType {
  const start = reader.position;
  const form = reader.u8("type");
  switch (form) {
    case FUNC:
      return {
        kind: "func",
        params: readValTypes(reader, "parameter types"),
        results: readValTypes(reader, "result types"),
      };
    case STRUCT: {
      const count = reader.vectorCount("fields", 2);
      const fields: FieldType[] = [];
      for (let i = 0; i < count; i++) fields.push(readFieldType(reader));
      return { kind: "struct", fields };
    }
    case ARRAY:
      return { kind: "array", field: readFieldType(reader) };
    default:
      throw new FormatError("malformed", start, "type", `there is no type form 0x${form.toString(16)}`);
  }
}

function readFieldType(reader: ByteReader): FieldType {
  const type = readStorageType(reader);
  return { type, mutable: readFlag(reader, "field mutability") };
}
