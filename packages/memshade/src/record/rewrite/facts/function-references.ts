import {
  type ByteRange,
  EXTERNREF,
  globalType,
  IMMEDIATE_KIND,
  isReference,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  tableType,
  type ValType,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";
import type { ModuleScan } from "./module-scan.ts";

export interface FunctionReferences {
  functions: Set<number>;
  /** True if code outside of the module may obtain a reference, or pass one of its own to be called. */
  reachable: boolean;
}

export function findReferences(module: WasmModule, scan: ModuleScan): FunctionReferences {
  const functions = new Set<number>();
  for (const { items } of module.elements)
    if (items.kind === "functions") for (const index of items.indices) functions.add(index);
    else for (const range of items.expressions) addReferences(module.bytes, range, functions);
  for (const { initial } of module.tables)
    if (initial !== undefined) addReferences(module.bytes, initial, functions);
  for (const { initial } of module.globals) addReferences(module.bytes, initial, functions);
  for (const index of scan.references) functions.add(index);
  const leadsOut = [...functions].some((index) => index < module.importedFunctionCount);
  return { functions, reachable: leadsOut || typesAtTheBorder(module).some(mayBeFunction) };
}

/**
 * Returns the types of all ways by which references enter or leave the module: shared tables and globals, and calls.
 */
function typesAtTheBorder(module: WasmModule): ValType[] {
  const types: ValType[] = [];
  for (const entry of module.imports) {
    if (entry.kind === "table") types.push(entry.table.element);
    if (entry.kind === "global") types.push(entry.global.type);
  }
  for (const { kind, index } of module.exports) {
    if (kind === "table") types.push(tableType(module, index).element);
    if (kind === "global") types.push(globalType(module, index).type);
  }
  for (const type of module.types) if (type?.kind === "func") types.push(...type.params, ...type.results);
  return types;
}

function mayBeFunction(type: ValType): boolean {
  return isReference(type) && type !== EXTERNREF;
}

function addReferences(bytes: Uint8Array, { start, end }: ByteRange, functions: Set<number>): void {
  for (let pos = start; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    if (op === Op.REF_FUNC) functions.add(readU32Leb(bytes, immediates));
    pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
}
