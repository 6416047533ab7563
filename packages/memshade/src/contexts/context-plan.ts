import { AllocatorRoles } from "../allocator/allocator-roles.ts";
import type { AllocatorPlan } from "../allocator/find/plan.ts";
import { functionsReaching, recursiveComponents } from "../rewrite/facts/call-graph.ts";
import { FunctionFact, type ModuleScan } from "../rewrite/facts/module-scan.ts";
import { importsOf, type WasmModule } from "../wasm/index.ts";
import { type CallPlan, CallTreatment } from "./call-plan.ts";
import { EntryPoints } from "./entry-points.ts";

/** Imports of these modules never call back into the program. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

/** Functions behind which any other may run: imports that may come back, and those that call through tables. */
export function mayRunAnything(module: WasmModule, scan: ModuleScan): number[] {
  const found: number[] = [];
  importsOf(module, "function").forEach((entry, index) => {
    if (!NEVER_COMES_BACK.has(entry.module)) found.push(index);
  });
  scan.facts.forEach((facts, defined) => {
    if (facts & FunctionFact.HasIndirectCall) found.push(defined + module.importedFunctionCount);
  });
  return found;
}

/**
 * Frames around the calls below which an allocation can happen. Calls inside a recursive component keep their
 * caller's frame, so recursion has one context however deep it goes.
 */
export class ContextPlan implements CallPlan {
  readonly #imported: number;
  readonly #roles: AllocatorRoles;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  /** Where the host comes in. */
  readonly entries: EntryPoints;

  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan) {
    this.#imported = module.importedFunctionCount;
    this.#roles = new AllocatorRoles(module, allocator);
    this.#component = recursiveComponents(module, scan);
    const targets = allocator.functions.filter(({ kind }) => kind !== "release").map(({ index }) => index);
    if (targets.length > 0) targets.push(...mayRunAnything(module, scan));
    this.#reaches = functionsReaching(
      module,
      scan,
      targets,
      // What the allocator asks of the host (memory, or to end it all) allocates nothing.
      (caller, callee) => callee < this.#imported && this.#roles.isInternal(caller),
    );
    this.entries = new EntryPoints(module, scan, (index) => this.reaches(index));
  }

  /** Whether an allocation can happen while the function runs. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  hasFrames(caller: number): boolean {
    return this.#reaches[caller] === 1 && !this.#roles.isInternal(caller);
  }

  treatment(caller: number, callee: number, tail: boolean): number {
    if (!this.hasFrames(caller)) return CallTreatment.None;
    const folded = this.#roles.isWrapper(caller);
    if (callee < 0) {
      if (this.entries.hostMayCallReferences)
        return tail || folded ? CallTreatment.KeepHost : CallTreatment.Host;
      return tail || folded ? CallTreatment.Keep : CallTreatment.Push;
    }
    if (this.#reaches[callee] === 0) return CallTreatment.None;
    if (this.#roles.isInternal(callee) && !this.#roles.isHooked(callee)) return CallTreatment.None;
    if (callee < this.#imported) return tail ? CallTreatment.KeepHost : CallTreatment.Host;
    return folded || this.#recursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }

  #recursive(caller: number, callee: number): boolean {
    const component = this.#component[caller - this.#imported];
    return component >= 0 && component === this.#component[callee - this.#imported];
  }
}
