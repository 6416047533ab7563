import { functionCount, type WasmModule } from "../../code/wasm/index.ts";
import { functionsReaching } from "../rewrite/facts/call-graph.ts";
import { type ModuleScan, usesTailCalls } from "../rewrite/facts/module-scan.ts";
import { findCallSites } from "./frames/call-sites.ts";

/**
 * Functions that may leave the module by a tail call, themselves or through their own tail calls. No code of the module
 * runs after that.
 */
export class LeavingFunctions {
  readonly #leaves: Uint8Array;

  constructor(module: WasmModule, scan: ModuleScan) {
    this.#leaves = usesTailCalls(scan) ? findLeaving(module, scan) : new Uint8Array(0);
  }

  /** True if a function may leave. −1: an unknown function. */
  has(index: number): boolean {
    return index < 0 ? this.#leaves.includes(1) : this.#leaves[index] === 1;
  }
}

/**
 * Returns 1 for each such function. A tail call through a table or a reference counts as leaving, since its callee may
 * be outside.
 */
function findLeaving(module: WasmModule, scan: ModuleScan): Uint8Array {
  const { callee, isTail, firstOfFunction } = findCallSites(module);
  const count = functionCount(module);
  const leaving: number[] = [];
  const tails = new Set<number>();
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const caller = defined + module.importedFunctionCount;
    for (let call = firstOfFunction[defined]; call < firstOfFunction[defined + 1]; call++) {
      if (!isTail[call]) continue;
      if (callee[call] < module.importedFunctionCount) leaving.push(caller);
      else tails.add(caller * count + callee[call]);
    }
  }
  return functionsReaching(module, scan, leaving, (from, to) => !tails.has(from * count + to));
}
