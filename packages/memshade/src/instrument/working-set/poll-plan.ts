import { importsOf, type WasmModule } from "../../wasm/index.ts";
import { functionsReaching, recursiveComponents } from "../call-graph.ts";
import { FunctionFact, type ModuleScan } from "../module-scan.ts";

/** Imports of these modules never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/**
 * Where a program has to ask whether an interval has ended: loops do at their header, and functions where they begin if
 * calls alone can go on forever through them. Whoever enters from outside asks first.
 */
export class PollPlan {
  readonly #imported: number;
  readonly #recursive: Int32Array;
  readonly #facts: Uint8Array;
  readonly #mayPoll: Uint8Array;
  readonly #mayAccess: Uint8Array;

  constructor(module: WasmModule, scan: ModuleScan) {
    this.#imported = module.importedFunctionCount;
    this.#recursive = recursiveComponents(module, scan);
    this.#facts = scan.facts;
    const polling: number[] = [];
    const accessing: number[] = [];
    importsOf(module, "function").forEach((entry, index) => {
      if (NEVER_COMES_BACK.has(entry.module)) return;
      polling.push(index);
      accessing.push(index);
    });
    scan.facts.forEach((facts, defined) => {
      const index = defined + this.#imported;
      const unknown = (facts & FunctionFact.HasIndirectCall) !== 0;
      if (unknown || (facts & FunctionFact.HasLoop) !== 0 || this.pollsAtEntry(index)) polling.push(index);
      if (unknown || (facts & FunctionFact.HasAccess) !== 0) accessing.push(index);
    });
    this.#mayPoll = functionsReaching(module, scan, polling);
    this.#mayAccess = functionsReaching(module, scan, accessing);
  }

  /** Every circle of calls leads through such a function: it calls itself in the end, or nobody knows whom it calls. */
  pollsAtEntry(index: number): boolean {
    const defined = index - this.#imported;
    if (defined < 0) return false;
    return this.#recursive[defined] >= 0 || (this.#facts[defined] & FunctionFact.HasIndirectCall) !== 0;
  }

  /** Whether an interval can end while the function runs; −1 is one unknown. */
  mayPoll(callee: number): boolean {
    return callee < 0 || this.#mayPoll[callee] === 1;
  }

  /** Whether the function, or one that it calls, may access memory. */
  mayAccess(callee: number): boolean {
    return callee < 0 || this.#mayAccess[callee] === 1;
  }
}
