import { FormatError } from "../../ground/bytes/errors.ts";
import { ByteReader } from "../../ground/bytes/reader.ts";
import { ImmediateKind } from "./immediates.ts";
import * as Op from "./op.generated.ts";
import { IMMEDIATE_KIND } from "./opcodes.ts";
import { SECTION_IDS_IN_ORDER, SectionId, sectionName } from "./sections.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "./skip.ts";
import {
  ABSTRACT_HEAP_TYPES,
  type ByteRange,
  type CompositeType,
  type DataSegment,
  type ElementItems,
  type ElementSegment,
  EXTERNAL_KINDS,
  type ExternalKind,
  type FieldType,
  FUNCREF,
  type FunctionBody,
  type GlobalType,
  type HeapType,
  type Import,
  type ImportDescription,
  isReference,
  type Limits,
  type LocalGroup,
  type MemoryType,
  PACKED_I8,
  PACKED_I16,
  referenceType,
  type SectionView,
  type SegmentMode,
  type StorageType,
  type SubtypeInfo,
  type TableDefinition,
  type TableType,
  type ValType,
  type WasmModule,
} from "./types.ts";

export const HEADER_BYTES = 8;

const MAGIC: readonly number[] = [0x00, 0x61, 0x73, 0x6d];
const CORE_LAYER = 0;
const COMPONENT_LAYER = 1;

/** Throws `FormatError` unless `bytes` begin like a core module of version 1. */
export function checkHeader(bytes: Uint8Array): void {
  if (bytes.length === 0) throw new FormatError("truncated", 0, "WebAssembly module", "the input is empty");
  const magicBytes = Math.min(bytes.length, MAGIC.length);
  for (let i = 0; i < magicBytes; i++)
    if (bytes[i] !== MAGIC[i]) throw new FormatError("bad-magic", 0, "WebAssembly module", notAModule(bytes));
  if (bytes.length < HEADER_BYTES)
    throw new FormatError("truncated", 0, "WebAssembly module", "the input ends inside the header");
  const version = bytes[4] | (bytes[5] << 8);
  const layer = bytes[6] | (bytes[7] << 8);
  if (layer === COMPONENT_LAYER) {
    const detail = "this is a component; components are not supported, the core modules inside them are";
    throw new FormatError("unsupported", 4, "WebAssembly module", detail);
  }
  if (version !== 1 || layer !== CORE_LAYER) {
    const number = (version | (layer << 16)) >>> 0;
    const detail = `version ${number} is not supported, only version 1 is`;
    throw new FormatError("unsupported-version", 4, "WebAssembly module", detail);
  }
}

function notAModule(bytes: Uint8Array): string {
  const beginning = String.fromCharCode(...bytes.subarray(0, 256)).trimStart();
  if (beginning.startsWith("(module") || beginning.startsWith(";;") || beginning.startsWith("(component"))
    return "this looks like the text format; assemble it first";
  return "the input does not begin with the bytes of a WebAssembly module";
}

const REF_NON_NULL = 0x64;
const REF_NULL = 0x63;
const LOWEST_NUMERIC = 0x7b;
const HIGHEST_NUMERIC = 0x7f;
const DEFAULT_PAGE_SIZE_LOG2 = 16;

const LIMITS_MAXIMUM = 1;
const LIMITS_SHARED = 2;
const LIMITS_INDEX64 = 4;
const LIMITS_PAGE_SIZE = 8;

export function readHeapType(reader: ByteReader): HeapType {
  const start = reader.position;
  const heapType = reader.s33Leb();
  if (heapType < 0 && ABSTRACT_HEAP_TYPES[heapType + 0x80] === undefined)
    throw new FormatError("malformed", start, "heap type", `there is no heap type ${heapType}`);
  return heapType;
}

export function readValType(reader: ByteReader): ValType {
  const start = reader.position;
  const byte = reader.u8("value type");
  if (byte >= LOWEST_NUMERIC && byte <= HIGHEST_NUMERIC) return byte;
  if (byte === REF_NON_NULL || byte === REF_NULL)
    return referenceType(readHeapType(reader), byte === REF_NULL);
  if (byte < 0x80 && isReference(byte)) return byte;
  throw new FormatError("malformed", start, "value type", `there is no value type 0x${byte.toString(16)}`);
}

export function readReferenceType(reader: ByteReader): ValType {
  const start = reader.position;
  const type = readValType(reader);
  if (!isReference(type)) throw new FormatError("malformed", start, "reference type", "it is a numeric type");
  return type;
}

export function readStorageType(reader: ByteReader): StorageType {
  const byte = reader.bytes[reader.position];
  if (reader.atEnd || (byte !== PACKED_I8 && byte !== PACKED_I16)) return readValType(reader);
  return reader.u8();
}

export function readValTypes(reader: ByteReader, construct: string): ValType[] {
  const count = reader.vectorCount(construct);
  const types: ValType[] = [];
  for (let i = 0; i < count; i++) types.push(readValType(reader));
  return types;
}

export function readFlag(reader: ByteReader, construct: string): boolean {
  const start = reader.position;
  const byte = reader.u8(construct);
  if (byte > 1) throw new FormatError("malformed", start, construct, `the byte is ${byte}, not 0 or 1`);
  return byte === 1;
}

export function readTableType(reader: ByteReader): TableType {
  const element = readReferenceType(reader);
  return {
    element,
    ...readLimits(reader, "table limits", LIMITS_MAXIMUM | LIMITS_SHARED | LIMITS_INDEX64).limits,
  };
}

export function readMemoryType(reader: ByteReader): MemoryType {
  const { limits, flags } = readLimits(reader, "memory limits", 0xf);
  const pageSizeLog2 = (flags & LIMITS_PAGE_SIZE) !== 0 ? reader.u32Leb() : DEFAULT_PAGE_SIZE_LOG2;
  return { ...limits, pageSizeLog2 };
}

function readLimits(
  reader: ByteReader,
  construct: string,
  knownFlags: number,
): { limits: Limits; flags: number } {
  const start = reader.position;
  const flags = reader.u8(construct);
  if ((flags & ~knownFlags) !== 0)
    throw new FormatError("malformed", start, construct, `unknown flags 0x${flags.toString(16)}`);
  const index64 = (flags & LIMITS_INDEX64) !== 0;
  const minimum = readLimit(reader, index64);
  const maximum = (flags & LIMITS_MAXIMUM) !== 0 ? readLimit(reader, index64) : undefined;
  return { limits: { minimum, maximum, shared: (flags & LIMITS_SHARED) !== 0, index64 }, flags };
}

function readLimit(reader: ByteReader, index64: boolean): number {
  if (!index64) return reader.u32Leb();
  const value = reader.u64Leb();
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(value);
}

const MAXIMUM_LOCALS = 0xffffffff;

export function decodeCodeSection(reader: ByteReader, module: WasmModule): void {
  module.codePayloadStart = reader.position;
  const count = reader.vectorCount("code section", 3);
  for (let i = 0; i < count; i++) module.bodies.push(readBody(reader));
}

function readBody(reader: ByteReader): FunctionBody {
  const sizeStart = reader.position;
  const size = reader.u32Leb();
  const start = reader.skip(size, "function body");
  const end = start + size;
  if (size < 2 || reader.bytes[end - 1] !== Op.END)
    throw new FormatError("malformed", sizeStart, "function body", "it does not finish with `end`");
  const locals = new ByteReader(reader.bytes, start, end);
  if (reader.bytes[start] === 0) locals.position = start + 1;
  else readLocalGroups(locals);
  if (locals.atEnd) throw new FormatError("malformed", start, "function body", "it has no instructions");
  return { sizeStart, start, codeStart: locals.position, end };
}

function readLocalGroups(reader: ByteReader): LocalGroup[] {
  const start = reader.position;
  const groupCount = reader.vectorCount("locals", 2);
  const groups: LocalGroup[] = [];
  let total = 0;
  for (let i = 0; i < groupCount; i++) {
    const count = reader.u32Leb();
    total += count;
    if (total > MAXIMUM_LOCALS) throw new FormatError("malformed", start, "locals", "there are too many");
    groups.push({ count, type: readValType(reader) });
  }
  return groups;
}

/** Locals that a body declares beside its parameters, in groups as written. */
export function decodeLocals(module: WasmModule, body: FunctionBody): LocalGroup[] {
  return readLocalGroups(new ByteReader(module.bytes, body.start, body.end));
}

type SectionDecoder = (reader: ByteReader, module: WasmModule) => void;

const SECTION_DECODERS: ReadonlyMap<number, SectionDecoder> = new Map([
  [SectionId.Type, decodeTypeSection],
  [SectionId.Import, decodeImportSection],
  [SectionId.Function, decodeFunctionSection],
  [SectionId.Table, decodeTableSection],
  [SectionId.Memory, decodeMemorySection],
  [SectionId.Tag, decodeTagSection],
  [SectionId.Global, decodeGlobalSection],
  [SectionId.Export, decodeExportSection],
  [SectionId.Start, decodeStartSection],
  [SectionId.Element, decodeElementSection],
  [SectionId.DataCount, decodeDataCountSection],
  [SectionId.Code, decodeCodeSection],
  [SectionId.Data, decodeDataSection],
]);

/**
 * Decodes the sections of a core module. The result refers to `bytes`, which must not change afterwards. Function
 * bodies are found, not decoded. Time and memory are bounded by the length of the input. The module is not
 * validated: indices may be out of range and instructions ill-typed.
 *
 * @throws FormatError for anything that is not a well-formed module of version 1
 */
export function decodeModule(bytes: Uint8Array): WasmModule {
  checkHeader(bytes);
  const module = emptyModule(bytes);
  const reader = new ByteReader(bytes, HEADER_BYTES);
  let nextRank = 0;
  while (!reader.atEnd) {
    const section = readSectionHeader(reader);
    module.sections.push(section);
    if (section.id === SectionId.Custom) {
      readCustomName(bytes, section);
      module.customs.push(section);
      continue;
    }
    const rank = rankOf(section, nextRank);
    nextRank = rank + 1;
    const payload = new ByteReader(bytes, section.payloadStart, section.payloadEnd);
    SECTION_DECODERS.get(section.id)?.(payload, module);
    if (!payload.atEnd)
      throw new FormatError(
        "malformed",
        payload.position,
        `${sectionName(section.id)} section`,
        `${payload.remaining} bytes are left after its last entry`,
      );
  }
  checkCounts(module);
  return module;
}

function emptyModule(bytes: Uint8Array): WasmModule {
  return {
    bytes,
    sections: [],
    types: [],
    subtypes: [],
    typeGroups: [],
    imports: [],
    functions: [],
    tables: [],
    memories: [],
    tags: [],
    globals: [],
    exports: [],
    start: undefined,
    elements: [],
    dataCount: undefined,
    bodies: [],
    data: [],
    customs: [],
    importedFunctionCount: 0,
    importedTableCount: 0,
    importedMemoryCount: 0,
    importedGlobalCount: 0,
    importedTagCount: 0,
    codePayloadStart: 0,
  };
}

function readSectionHeader(reader: ByteReader): SectionView {
  const start = reader.position;
  const id = reader.u8("section");
  const size = reader.u32Leb();
  const payloadStart = reader.skip(size, `${sectionName(id)} section`);
  return { id, start, payloadStart, payloadEnd: payloadStart + size };
}

function readCustomName(bytes: Uint8Array, section: SectionView): void {
  const reader = new ByteReader(bytes, section.payloadStart, section.payloadEnd);
  section.name = reader.name("custom section name");
  section.contentStart = reader.position;
}

/** Returns the index of the section in the prescribed order; throws unless it is at least `lowestRank`. */
function rankOf(section: SectionView, lowestRank: number): number {
  const construct = `${sectionName(section.id)} section`;
  const rank = SECTION_IDS_IN_ORDER.indexOf(section.id);
  if (rank < 0) throw new FormatError("malformed", section.start, construct, "there is no such section id");
  if (rank >= lowestRank) return rank;
  const detail = rank === lowestRank - 1 ? "the section appears twice" : "the section is out of order";
  throw new FormatError("malformed", section.start, construct, detail);
}

function checkCounts(module: WasmModule): void {
  const { functions, bodies, dataCount, data, bytes } = module;
  if (functions.length !== bodies.length) {
    const detail = `${functions.length} functions are declared and ${bodies.length} have a body`;
    throw new FormatError("malformed", module.codePayloadStart || bytes.length, "code section", detail);
  }
  if (dataCount !== undefined && dataCount !== data.length) {
    const detail = `${dataCount} segments are announced and ${data.length} follow`;
    throw new FormatError("malformed", bytes.length, "data section", detail);
  }
}

const TABLE_WITH_INITIALIZER = 0x40;

function decodeImportSection(reader: ByteReader, module: WasmModule): void {
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

function decodeFunctionSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("function section");
  for (let i = 0; i < count; i++) module.functions.push(reader.u32Leb());
}

function decodeTableSection(reader: ByteReader, module: WasmModule): void {
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

function decodeMemorySection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("memory section", 2);
  for (let i = 0; i < count; i++) module.memories.push(readMemoryType(reader));
}

function decodeTagSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("tag section", 2);
  for (let i = 0; i < count; i++) module.tags.push({ typeIndex: readTagType(reader) });
}

function decodeGlobalSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("global section", 3);
  for (let i = 0; i < count; i++) {
    const type = readGlobalType(reader);
    module.globals.push({ ...type, initial: readConstantExpression(reader) });
  }
}

function decodeExportSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("export section", 3);
  for (let i = 0; i < count; i++) {
    const name = reader.name("export name");
    const kind = readExternalKind(reader);
    module.exports.push({ name, kind, index: reader.u32Leb() });
  }
}

function decodeStartSection(reader: ByteReader, module: WasmModule): void {
  module.start = reader.u32Leb();
}

function decodeDataCountSection(reader: ByteReader, module: WasmModule): void {
  module.dataCount = reader.u32Leb();
}

const NOT_ACTIVE = 1;
/** Flag: with `NOT_ACTIVE` the segment is declarative; otherwise a table index follows. */
const EXPLICIT = 2;
const EXPRESSIONS = 4;

function decodeElementSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("element section", 2);
  for (let i = 0; i < count; i++) module.elements.push(readElementSegment(reader));
}

function readElementSegment(reader: ByteReader): ElementSegment {
  const flagsStart = reader.position;
  const flags = reader.u32Leb();
  if (flags > 7)
    throw new FormatError("malformed", flagsStart, "element segment", `there is no kind ${flags}`);
  const active = (flags & NOT_ACTIVE) === 0;
  const table = active && (flags & EXPLICIT) !== 0 ? reader.u32Leb() : 0;
  const offset = active ? readConstantExpression(reader) : undefined;
  const mode: SegmentMode = active ? "active" : (flags & EXPLICIT) !== 0 ? "declarative" : "passive";
  let type = FUNCREF;
  if ((flags & (NOT_ACTIVE | EXPLICIT)) !== 0)
    if ((flags & EXPRESSIONS) !== 0) type = readReferenceType(reader);
    else if (reader.u8("element kind") !== 0)
      throw new FormatError("malformed", reader.position - 1, "element kind", "only functions (0) are known");
  const items = (flags & EXPRESSIONS) !== 0 ? readExpressions(reader) : readFunctionIndices(reader);
  return { mode, flags, table, offset, type, items };
}

function readFunctionIndices(reader: ByteReader): ElementItems {
  const count = reader.vectorCount("element segment");
  const indices: number[] = [];
  for (let i = 0; i < count; i++) indices.push(reader.u32Leb());
  return { kind: "functions", indices };
}

function readExpressions(reader: ByteReader): ElementItems {
  const count = reader.vectorCount("element segment");
  const expressions: ByteRange[] = [];
  for (let i = 0; i < count; i++) expressions.push(readConstantExpression(reader));
  return { kind: "expressions", expressions };
}

function decodeDataSection(reader: ByteReader, module: WasmModule): void {
  const count = reader.vectorCount("data section", 2);
  for (let i = 0; i < count; i++) module.data.push(readDataSegment(reader));
}

function readDataSegment(reader: ByteReader): DataSegment {
  const flagsStart = reader.position;
  const flags = reader.u32Leb();
  if (flags > 2) throw new FormatError("malformed", flagsStart, "data segment", `there is no kind ${flags}`);
  const memory = flags === 2 ? reader.u32Leb() : 0;
  const offset = flags === 1 ? undefined : readConstantExpression(reader);
  const size = reader.u32Leb();
  const start = reader.skip(size, "data segment");
  return { mode: flags === 1 ? "passive" : "active", flags, memory, offset, start, end: start + size };
}

const FUNC = 0x60;
const STRUCT = 0x5f;
const ARRAY = 0x5e;
const SUB = 0x50;
const SUB_FINAL = 0x4f;
const REC = 0x4e;

/** Reads the type section and expands its recursion groups into one index space. */
function decodeTypeSection(reader: ByteReader, module: WasmModule): void {
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

/** Skips a constant expression; the range includes its `end`. */
function readConstantExpression(reader: ByteReader): ByteRange {
  const { bytes, position: start } = reader;
  let position = start;
  while (position < reader.end) {
    const id = opcodeIdAt(bytes, position);
    const kind = IMMEDIATE_KIND[id];
    if (kind === ImmediateKind.BlockType || kind === ImmediateKind.TryTable)
      throw new FormatError("malformed", position, "constant expression", "it contains a block");
    position = skipImmediates(bytes, skipOpcode(bytes, position), kind);
    if (id === Op.END) {
      reader.skip(position - start, "constant expression");
      return { start, end: position };
    }
  }
  throw new FormatError("truncated", start, "constant expression", "it has no end");
}
