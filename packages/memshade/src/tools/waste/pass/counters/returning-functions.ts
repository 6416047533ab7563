import { functionsReaching } from "../../../../rewrite/facts/call-graph.ts";
import { FunctionFact, type ModuleScan } from "../../../../rewrite/facts/module-scan.ts";
import type { WasmModule } from "../../../../wasm/index.ts";

/**
 * A bit per function, imports included: it comes back whenever it is called, unless something traps, and meanwhile the
 * host is not in control. In modules with exceptions there are none.
 */
export function returningFunctions(module: WasmModule, scan: ModuleScan): Uint8Array {
  const imported = module.importedFunctionCount;
  const total = imported + module.bodies.length;
  const bits = new Uint8Array((total + 7) >>> 3);
  if (module.importedTagCount + module.tags.length > 0) return bits;
  const outside = Array.from({ length: imported }, (_, index) => index);
  scan.facts.forEach((facts, defined) => {
    if ((facts & FunctionFact.HasIndirectCall) !== 0) outside.push(imported + defined);
  });
  const leaves = functionsReaching(module, scan, outside);
  for (let index = 0; index < total; index++) if (leaves[index] === 0) bits[index >>> 3] |= 1 << (index & 7);
  return bits;
}
