import { FormatError } from "../../ground/bytes/errors.ts";
import {
  EXTERNAL_KINDS,
  type ExternalKind,
  type FuncType,
  type GlobalType,
  type Import,
  type MemoryType,
  type TableType,
  type WasmModule,
} from "./types.ts";

/*
 * Index spaces: imports first, then the module's own definitions. All functions throw `FormatError("malformed")`
 * for an absent index, because decoding does not validate.
 */

export function funcTypeAt(module: WasmModule, typeIndex: number): FuncType {
  const type = module.types[typeIndex];
  if (type?.kind !== "func")
    throw new FormatError("malformed", 0, "type index", `${typeIndex} is not a function type`);
  return type;
}

/** Returns the index into `types` of the function's type. */
export function functionTypeIndex(module: WasmModule, functionIndex: number): number {
  const { importedFunctionCount, functions } = module;
  if (functionIndex < importedFunctionCount) return importOf(module, "function", functionIndex).typeIndex;
  const typeIndex = functions[functionIndex - importedFunctionCount];
  if (typeIndex === undefined) throw noSuchIndex("function", functionIndex);
  return typeIndex;
}

export function functionType(module: WasmModule, functionIndex: number): FuncType {
  return funcTypeAt(module, functionTypeIndex(module, functionIndex));
}

export function memoryType(module: WasmModule, memoryIndex: number): MemoryType {
  const { importedMemoryCount, memories } = module;
  if (memoryIndex < importedMemoryCount) return importOf(module, "memory", memoryIndex).memory;
  return memories[memoryIndex - importedMemoryCount] ?? fail("memory", memoryIndex);
}

export function globalType(module: WasmModule, globalIndex: number): GlobalType {
  const { importedGlobalCount, globals } = module;
  if (globalIndex < importedGlobalCount) return importOf(module, "global", globalIndex).global;
  return globals[globalIndex - importedGlobalCount] ?? fail("global", globalIndex);
}

export function tableType(module: WasmModule, tableIndex: number): TableType {
  const { importedTableCount, tables } = module;
  if (tableIndex < importedTableCount) return importOf(module, "table", tableIndex).table;
  return tables[tableIndex - importedTableCount] ?? fail("table", tableIndex);
}

export function memoryCount(module: WasmModule): number {
  return module.importedMemoryCount + module.memories.length;
}

export function functionCount(module: WasmModule): number {
  return module.importedFunctionCount + module.functions.length;
}

type ImportOfKind<K extends ExternalKind> = Extract<Import, { kind: K }>;

const importsByKind = new WeakMap<WasmModule, Map<ExternalKind, Import[]>>();

export function importsOf<K extends ExternalKind>(module: WasmModule, kind: K): readonly ImportOfKind<K>[] {
  let groups = importsByKind.get(module);
  if (groups === undefined) {
    groups = new Map(EXTERNAL_KINDS.map((external) => [external, []]));
    for (const entry of module.imports) groups.get(entry.kind)?.push(entry);
    importsByKind.set(module, groups);
  }
  return groups.get(kind) as ImportOfKind<K>[];
}

function importOf<K extends ExternalKind>(module: WasmModule, kind: K, index: number): ImportOfKind<K> {
  return importsOf(module, kind)[index] ?? fail(kind, index);
}

function fail(kind: ExternalKind, index: number): never {
  throw noSuchIndex(kind, index);
}

function noSuchIndex(kind: ExternalKind, index: number): FormatError {
  return new FormatError("malformed", 0, `${kind} index`, `the module has no ${kind} ${index}`);
}
