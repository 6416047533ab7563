import { importsOf, type WasmModule } from "../../code/wasm/index.ts";
import { functionsReaching, recursiveComponents } from "../rewrite/facts/call-graph.ts";
import { FunctionFact, type ModuleScan } from "../rewrite/facts/module-scan.ts";
import { EntryPoints } from "./entry-points.ts";
import { LeavingFunctions } from "./leaving-functions.ts";

/** What a call does with the context at hand. */
export const CallTreatment = {
  /** Nothing can happen below: the context is left alone. */
  None: 0,
  /** The call adds its place to the context. */
  Push: 1,
  /** The callee takes over the caller's context: recursion, tail calls, folded wrappers. */
  Keep: 2,
  /** As Push, and whatever comes back into the module from the host continues there. */
  Host: 3,
  /** A call out of the module, as a rule a tail call: what comes back in continues where the caller was called. */
  KeepHost: 4,
} as const;

/** Imports of these modules never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/** Decides for each call of a module what happens to the context, for events that only happen in some functions. */
export abstract class CallPlan {
  /** Where the host comes in. */
  readonly entries: EntryPoints;
  protected readonly imported: number;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  readonly #leaving: LeavingFunctions;

  /** `targets`: functions in which something happens. `leadsNowhere`: direct calls that lead to none of them. */
  constructor(
    module: WasmModule,
    scan: ModuleScan,
    targets: readonly number[],
    leadsNowhere: (caller: number, callee: number) => boolean,
  ) {
    this.imported = module.importedFunctionCount;
    this.#component = recursiveComponents(module, scan);
    const all = targets.length === 0 ? [] : [...targets, ...mayRunAnything(module, scan)];
    this.#reaches = functionsReaching(module, scan, all, leadsNowhere);
    this.entries = new EntryPoints(module, scan, (index) => this.reaches(index));
    this.#leaving = new LeavingFunctions(module, scan);
  }

  /** Whether something can happen while the function runs, so that it matters who called it. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  /** `CallTreatment` of a call; `callee` is −1 for one through a table or a reference. */
  abstract treatment(caller: number, callee: number, isTail: boolean): number;

  /**
   * Whether a function may have left the module by a tail call: then nobody but its caller can put back what says where the
   * host stands. −1 is one unknown.
   */
  leavesForGood(callee: number): boolean {
    return this.#leaving.has(callee);
  }

  /** Whether a call is one inside of a recursive component. */
  protected isRecursive(caller: number, callee: number): boolean {
    const component = this.#component[caller - this.imported];
    return component >= 0 && component === this.#component[callee - this.imported];
  }
}

/** Functions behind which any other may run: imports that may come back, and those that call through tables. */
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
