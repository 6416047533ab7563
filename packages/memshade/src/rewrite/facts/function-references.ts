import { readU32Leb } from "../../bytes/leb128.ts";
import {
  type ByteRange,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";
import * as Op from "../../wasm/op.generated.ts";
import type { ModuleScan } from "./module-scan.ts";

export interface FunctionReferences {
  /** Functions whose references the module makes. */
  functions: Set<number>;
  /** Whether code outside the module may get hold of a reference, or put one of its own where the module calls it. */
  reachable: boolean;
}

/** Functions that can be called otherwise than by name. */
export function findReferences(module: WasmModule, scan: ModuleScan): FunctionReferences {
  const functions = new Set<number>();
  let reachable = false;
  for (const { items } of module.elements) {
    if (items.kind === "functions") for (const index of items.indices) functions.add(index);
    else for (const range of items.expressions) addReferences(module.bytes, range, functions);
  }
  for (const { initial } of module.tables)
    if (initial !== undefined) addReferences(module.bytes, initial, functions);
  for (const { initial } of module.globals) addReferences(module.bytes, initial, functions);
  for (const { kind } of module.imports) if (kind === "table") reachable = true;
  for (const { kind, index } of module.exports) {
    if (kind === "table") reachable = true;
    if (kind === "global" && index >= module.importedGlobalCount) {
      const { type } = module.globals[index - module.importedGlobalCount];
      if (!NUMERIC.has(type)) reachable = true;
    }
  }
  for (const index of functions) if (index < module.importedFunctionCount) reachable = true;
  // References made by instructions may be handed to the host by any call.
  for (const index of scan.references) functions.add(index);
  return { functions, reachable: reachable || scan.references.size > 0 };
}

const NUMERIC = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x7b]);

function addReferences(bytes: Uint8Array, { start, end }: ByteRange, functions: Set<number>): void {
  for (let pos = start; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    if (op === Op.REF_FUNC) functions.add(readU32Leb(bytes, immediates));
    pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
}
