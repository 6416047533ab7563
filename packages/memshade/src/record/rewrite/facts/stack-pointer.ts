import { globalType, type ModuleNames, type WasmModule } from "../../../code/wasm/index.ts";
import type { ModuleScan } from "./module-scan.ts";

const STACK_POINTER_NAME = /^(.*[/.])?__stack_pointer$/;

/**
 * Returns the index of the stack pointer's global, found by name or by the prologues of functions; −1 if none is found.
 */
export function findStackPointer(module: WasmModule, names: ModuleNames, scan: ModuleScan): number {
  for (const [index, name] of names.globals) if (STACK_POINTER_NAME.test(name)) return index;
  for (const entry of module.exports)
    if (entry.kind === "global" && STACK_POINTER_NAME.test(entry.name)) return entry.index;
  let importedGlobal = 0;
  for (const entry of module.imports) {
    if (entry.kind !== "global") continue;
    if (STACK_POINTER_NAME.test(entry.field)) return importedGlobal;
    importedGlobal++;
  }
  let best = -1;
  let most = 0;
  for (const [index, count] of scan.prologues) {
    if (count <= most || !globalType(module, index).mutable) continue;
    best = index;
    most = count;
  }
  return best;
}
