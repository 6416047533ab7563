import { entryOf } from "../../ground/bytes/entries.ts";
import { readS32Leb, readS64Leb } from "../../ground/bytes/leb128.ts";
import { ByteReader } from "../../ground/bytes/reader.ts";
import { bytesOf } from "./encode/module.ts";
import { importsOf } from "./lookups.ts";
import * as Op from "./op.generated.ts";
import {
  type ByteRange,
  type DataSegment,
  EXTERNAL_KINDS,
  type ExternalKind,
  type WasmModule,
} from "./types.ts";

/** Content of the custom section "name". Index spaces count imports. */
export interface ModuleNames {
  module: string | undefined;
  functions: Map<number, string>;
  /** per function index, per local index (parameters first) */
  locals: Map<number, Map<number, string>>;
  /** per function index, per label in the order of block starts */
  labels: Map<number, Map<number, string>>;
  types: Map<number, string>;
  tables: Map<number, string>;
  memories: Map<number, string>;
  globals: Map<number, string>;
  elements: Map<number, string>;
  data: Map<number, string>;
  /** per type index, per field index */
  fields: Map<number, Map<number, string>>;
  tags: Map<number, string>;
}

type NameMapKey = "functions" | "types" | "tables" | "memories" | "globals" | "elements" | "data" | "tags";
type IndirectKey = "locals" | "labels" | "fields";

const NAME_MAPS: ReadonlyMap<number, NameMapKey> = new Map([
  [1, "functions"],
  [4, "types"],
  [5, "tables"],
  [6, "memories"],
  [7, "globals"],
  [8, "elements"],
  [9, "data"],
  [11, "tags"],
]);

const INDIRECT_NAME_MAPS: ReadonlyMap<number, IndirectKey> = new Map([
  [2, "locals"],
  [3, "labels"],
  [10, "fields"],
]);

const MODULE_NAME = 0;

/** Names of each module, read once, since large modules have hundreds of thousands of names. */
const namesOfModules = new WeakMap<WasmModule, ModuleNames>();

const lenientUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Reads the name section. Never throws: damage ends its subsection, earlier names are kept, and bytes that are not
 * UTF-8 become replacement characters. Without a name section the result is empty. The result belongs to the module
 * and must not be changed.
 */
export function readNames(module: WasmModule): Readonly<ModuleNames> {
  const cachedNames = namesOfModules.get(module);
  if (cachedNames !== undefined) return cachedNames;
  const names = emptyNames();
  namesOfModules.set(module, names);
  for (const section of module.customs) {
    if (section.name !== "name" || section.contentStart === undefined) continue;
    const reader = new ByteReader(module.bytes, section.contentStart, section.payloadEnd);
    readTolerantly(() => readSubsections(reader, names));
  }
  return names;
}

function emptyNames(): ModuleNames {
  return {
    module: undefined,
    functions: new Map(),
    locals: new Map(),
    labels: new Map(),
    types: new Map(),
    tables: new Map(),
    memories: new Map(),
    globals: new Map(),
    elements: new Map(),
    data: new Map(),
    fields: new Map(),
    tags: new Map(),
  };
}

function readTolerantly(read: () => void): void {
  try {
    read();
  } catch {
    // Names are optional: a module with a damaged name section still runs.
  }
}

function readSubsections(reader: ByteReader, names: ModuleNames): void {
  while (!reader.atEnd) {
    const id = reader.u8();
    const size = reader.u32Leb();
    const start = reader.position;
    const end = Math.min(start + size, reader.end);
    const content = new ByteReader(reader.bytes, start, end);
    readTolerantly(() => readSubsection(content, id, names));
    reader.position = end;
  }
}

function readSubsection(reader: ByteReader, id: number, names: ModuleNames): void {
  if (id === MODULE_NAME) names.module = readLenientName(reader);
  const key = NAME_MAPS.get(id);
  if (key !== undefined) readNameMap(reader, names[key]);
  const indirectKey = INDIRECT_NAME_MAPS.get(id);
  if (indirectKey !== undefined) readIndirectNameMap(reader, names[indirectKey]);
}

function readIndirectNameMap(reader: ByteReader, target: Map<number, Map<number, string>>): void {
  for (let count = reader.u32Leb(); count > 0; count--) {
    const index = reader.u32Leb();
    const inner = entryOf(target, index, () => new Map<number, string>());
    readNameMap(reader, inner);
  }
}

function readNameMap(reader: ByteReader, target: Map<number, string>): void {
  for (let count = reader.u32Leb(); count > 0; count--) {
    const index = reader.u32Leb();
    target.set(index, readLenientName(reader));
  }
}

function readLenientName(reader: ByteReader): string {
  return lenientUtf8.decode(reader.view(reader.u32Leb()));
}

/**
 * Returns the best name of a function: from the name section, else its first export, else `module.field` of
 * its import; undefined if it has none of these.
 */
export function functionName(module: WasmModule, names: ModuleNames, index: number): string | undefined {
  const named = names.functions.get(index);
  if (named !== undefined && named !== "") return named;
  const exported = exportedNames(module, "function").get(index);
  if (exported !== undefined) return exported;
  const imported = importsOf(module, "function")[index];
  return imported === undefined ? undefined : `${imported.module}.${imported.field}`;
}

const exportedNamesByModule = new WeakMap<WasmModule, Map<ExternalKind, Map<number, string>>>();

function exportedNames(module: WasmModule, kind: ExternalKind): ReadonlyMap<number, string> {
  let byKind = exportedNamesByModule.get(module);
  if (byKind === undefined) {
    byKind = new Map(EXTERNAL_KINDS.map((external) => [external, new Map()]));
    for (const entry of module.exports) {
      const names = byKind.get(entry.kind);
      if (!names?.has(entry.index)) names?.set(entry.index, entry.name);
    }
    exportedNamesByModule.set(module, byKind);
  }
  return byKind.get(kind) as Map<number, string>;
}

export function initialValue(module: WasmModule, global: number): number | undefined {
  const own = module.globals[global - module.importedGlobalCount];
  return own === undefined ? undefined : constantOf(module, own.initial);
}

/** Returns the start address of an active segment of memory 0, if it is a constant. */
export function segmentAddress(module: WasmModule, segment: DataSegment): number | undefined {
  const { mode, memory, offset } = segment;
  return mode !== "active" || memory !== 0 || offset === undefined ? undefined : constantOf(module, offset);
}

function constantOf(module: WasmModule, expression: ByteRange): number | undefined {
  const bytes = bytesOf(module, expression);
  if (bytes[0] === Op.I32_CONST) return readS32Leb(bytes, 1) >>> 0;
  if (bytes[0] !== Op.I64_CONST) return undefined;
  const value = Number(BigInt.asUintN(64, readS64Leb(bytes, 1)));
  return Number.isSafeInteger(value) ? value : undefined;
}
