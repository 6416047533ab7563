import { FormatError } from "../../../ground/bytes/errors.ts";
import type { ByteReader } from "../../../ground/bytes/reader.ts";
import {
  EXTERNAL_KINDS,
  type ExternalKind,
  type GlobalType,
  type Import,
  type ImportDescription,
  type TableDefinition,
  type WasmModule,
} from "../types.ts";
import { readConstantExpression } from "./expression.ts";
import { readFlag, readMemoryType, readTableType, readValType } from "./value-types.ts";

const TABLE_WITH_INITIALIZER = 0x40;

export function decodeImportSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("import section", 4);
  for (let i = 0; i < count; i++) {
    const names = { module: reader.name("import module name"), field: reader.name("import name") };
    const entry: Import = { ...names, ...readImportDescription(reader) };
    module.imports.push(entry);
    if (entry.kind === "function") module.importedFunctionCount++;
    else if (entry.kind === "table") module.importedTableCount++;
    else if (entry.kind === "memory") module.importedMemoryCount++;
    else if (entry.kind === "global") module.importedGlobalCount++;
    else module.importedTagCount++;
  }
}

function readImportDescription(reader: ByteReader): ImportDescription {
  const kind = readExternalKind(reader);
  switch (kind) {
    case "function":
      return { kind, typeIndex: reader.u32Leb() };
    case "table":
      return { kind, table: readTableType(reader) };
    case "memory":
      return { kind, memory: readMemoryType(reader) };
    case "global":
      return { kind, global: readGlobalType(reader) };
    case "tag":
      return { kind, typeIndex: readTagType(reader) };
  }
}

function readExternalKind(reader: ByteReader): ExternalKind {
  const start = reader.position;
  const byte = reader.u8("external kind");
  const kind = EXTERNAL_KINDS[byte];
  if (kind === undefined)
    throw new FormatError("malformed", start, "external kind", `there is no kind ${byte}`);
  return kind;
}

function readGlobalType(reader: ByteReader): GlobalType {
  const type = readValType(reader);
  return { type, mutable: readFlag(reader, "global mutability") };
}

function readTagType(reader: ByteReader): number {
  const start = reader.position;
  const attribute = reader.u8("tag");
  if (attribute !== 0) throw new FormatError("malformed", start, "tag", `there is no attribute ${attribute}`);
  return reader.u32Leb();
}

export function decodeFunctionSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("function section");
  for (let i = 0; i < count; i++) module.functions.push(reader.u32Leb());
}

export function decodeTableSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("table section", 3);
  for (let i = 0; i < count; i++) module.tables.push(readTableDefinition(reader));
}

function readTableDefinition(reader: ByteReader): TableDefinition {
  if (reader.atEnd || reader.bytes[reader.position] !== TABLE_WITH_INITIALIZER)
    return { ...readTableType(reader), initial: undefined };
  const start = reader.skip(1);
  if (reader.u8("table") !== 0)
    throw new FormatError("malformed", start, "table", "the reserved byte is not 0");
  return { ...readTableType(reader), initial: readConstantExpression(reader) };
}

export function decodeMemorySection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("memory section", 2);
  for (let i = 0; i < count; i++) module.memories.push(readMemoryType(reader));
}

export function decodeTagSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("tag section", 2);
  for (let i = 0; i < count; i++) module.tags.push({ typeIndex: readTagType(reader) });
}

export function decodeGlobalSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("global section", 3);
  for (let i = 0; i < count; i++) {
    const type = readGlobalType(reader);
    module.globals.push({ ...type, initial: readConstantExpression(reader) });
  }
}

export function decodeExportSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("export section", 3);
  for (let i = 0; i < count; i++) {
    const name = reader.name("export name");
    const kind = readExternalKind(reader);
    module.exports.push({ name, kind, index: reader.u32Leb() });
  }
}

export function decodeStartSection(reader: ByteReader, module: WasmModule): void {
  module.start = reader.u32Leb();
}

export function decodeDataCountSection(reader: ByteReader, module: WasmModule): void {
  module.dataCount = reader.u32Leb();
}
