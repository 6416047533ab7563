import { importsOf, type WasmModule } from "../../code/wasm/index.ts";
import { functionsReaching, recursiveComponents } from "../rewrite/facts/call-graph.ts";
import { FunctionFact, type ModuleScan } from "../rewrite/facts/module-scan.ts";
import { EntryPoints } from "./entry-points.ts";
import { LeavingFunctions } from "./leaving-functions.ts";

export const CallTreatment = {
  /** No event can happen during the call; the context does not change. */
  None: 0,
  /** The call adds its site to the context. */
  Push: 1,
  /** The callee inherits the caller's context: recursion, tail calls, folded wrappers. */
  Keep: 2,
  /** Like `Push`; calls from the host back into the module continue in that context, too. */
  Host: 3,
  /** Call out of the module, usually a tail call. Calls back into the module continue in the caller's context. */
  KeepHost: 4,
} as const;

/** Modules whose imports never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/** Decides the effect of each call on the context, for events that happen only in some functions. */
export abstract class CallPlan {
  readonly entries: EntryPoints;
  protected readonly imported: number;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  readonly #leaving: LeavingFunctions;

  /** `targets`: functions in which events happen. `leadsNowhere`: direct calls from which no target is reached. */
  constructor(
    module: WasmModule,
    scan: ModuleScan,
    targets: readonly number[],
    leadsNowhere: (caller: number, callee: number) => boolean,
  ) {
    this.imported = module.importedFunctionCount;
    this.#component = recursiveComponents(module, scan);
    const eventFunctions = targets.length === 0 ? [] : [...targets, ...mayRunAnything(module, scan)];
    this.#reaches = functionsReaching(module, scan, eventFunctions, leadsNowhere);
    this.entries = new EntryPoints(module, scan, (index) => this.reaches(index));
    this.#leaving = new LeavingFunctions(module, scan);
  }

  /** True if an event can happen while the function runs, so that its context matters. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  /** Returns the `CallTreatment` of a call; `callee` is −1 for a call through a table or a reference. */
  abstract treatment(caller: number, callee: number, isTail: boolean): number;

  /**
   * True if a function may leave the module by a tail call. Only its caller can then restore the host words. −1: an
   * unknown function.
   */
  leavesForGood(callee: number): boolean {
    return this.#leaving.has(callee);
  }

  protected isRecursive(caller: number, callee: number): boolean {
    const component = this.#component[caller - this.imported];
    return component >= 0 && component === this.#component[callee - this.imported];
  }
}

/** Returns the functions that may lead to any other: imports that may call back, and functions with indirect calls. */
function mayRunAnything(module: WasmModule, scan: ModuleScan): number[] {
  const found: number[] = [];
  importsOf(module, "function").forEach((entry, index) => {
    if (!NEVER_COMES_BACK.has(entry.module)) found.push(index);
  });
  scan.facts.forEach((facts, defined) => {
    if (facts & FunctionFact.HasIndirectCall) found.push(defined + module.importedFunctionCount);
  });
  return found;
}
