import type { WasmModule } from "../../../code/wasm/index.ts";
import { findReferences } from "./function-references.ts";
import { FunctionFact, type ModuleScan } from "./module-scan.ts";

/**
 * Returns 1 for every function (imports included) that may be called in a loop of another function, directly or
 * indirectly.
 */
export function functionsUnderLoops(module: WasmModule, scan: ModuleScan): Uint8Array {
  const imported = module.importedFunctionCount;
  const under = new Uint8Array(imported + module.bodies.length);
  const open: number[] = [];
  const add = (index: number): void => {
    if (under[index] !== 0) return;
    under[index] = 1;
    open.push(index);
  };
  let callsAny = scan.hasIndirectCallInLoop;
  const addReferences = (): void => {
    for (const index of findReferences(module, scan).functions) add(index);
  };
  for (const index of scan.calledInLoops) add(index);
  if (callsAny) addReferences();
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    const defined = index - imported;
    if (defined < 0) continue;
    for (let at = scan.firstCallee[defined]; at < scan.firstCallee[defined + 1]; at++) add(scan.callees[at]);
    if (callsAny || (scan.facts[defined] & FunctionFact.HasIndirectCall) === 0) continue;
    callsAny = true;
    addReferences();
  }
  return under;
}
