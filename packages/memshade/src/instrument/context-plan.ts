import { importsOf, type WasmModule } from "../wasm/index.ts";
import { functionsReaching, recursiveComponents } from "./call-graph.ts";
import { type CallPlan, CallTreatment } from "./call-plan.ts";
import type { AllocatorPlan } from "./find-allocator/plan.ts";
import { FunctionFact, type ModuleScan } from "./module-scan.ts";

/** Imports of these modules never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/**
 * Frames around the calls below which an allocation can happen. Calls inside a recursive component keep their
 * caller's frame, so recursion has one context however deep it goes.
 */
export class ContextPlan implements CallPlan {
  readonly #imported: number;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  readonly #hooked: Set<number>;
  readonly #internal: Set<number>;
  readonly #wrappers: Set<number>;
  readonly #siteOf: (codeOffset: number) => number;

  constructor(
    module: WasmModule,
    scan: ModuleScan,
    allocator: AllocatorPlan,
    siteOf: (codeOffset: number) => number,
  ) {
    this.#imported = module.importedFunctionCount;
    this.#siteOf = siteOf;
    this.#hooked = new Set(allocator.functions.map((f) => f.index));
    this.#internal = new Set(allocator.internals);
    this.#wrappers = new Set(allocator.wrappers);
    this.#component = recursiveComponents(module, scan);
    const targets = [...this.#hooked];
    if (targets.length > 0) {
      importsOf(module, "function").forEach((entry, index) => {
        if (!NEVER_COMES_BACK.has(entry.module)) targets.push(index);
      });
      scan.facts.forEach((facts, defined) => {
        if (facts & FunctionFact.HasIndirectCall) targets.push(defined + this.#imported);
      });
    }
    this.#reaches = functionsReaching(module, scan, targets);
  }

  /** Whether an allocation can happen while the function runs. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  hasFrames(caller: number): boolean {
    return this.#reaches[caller] === 1 && !this.#internal.has(caller);
  }

  treatment(caller: number, callee: number, tail: boolean): number {
    if (!this.hasFrames(caller)) return CallTreatment.None;
    const folded = this.#wrappers.has(caller);
    if (callee < 0) return tail || folded ? CallTreatment.Keep : CallTreatment.Push;
    if (this.#reaches[callee] === 0) return CallTreatment.None;
    if (this.#internal.has(callee) && !this.#hooked.has(callee)) return CallTreatment.None;
    if (callee < this.#imported) return tail ? CallTreatment.Keep : CallTreatment.Host;
    return folded || this.#recursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }

  siteOf(codeOffset: number): number {
    return this.#siteOf(codeOffset);
  }

  #recursive(caller: number, callee: number): boolean {
    const component = this.#component[caller - this.#imported];
    return component >= 0 && component === this.#component[callee - this.#imported];
  }
}
