import type { AllocatorPlan } from "../../allocator/find/plan.ts";
import { functionsReaching, recursiveComponents } from "../../rewrite/facts/call-graph.ts";
import type { ModuleScan } from "../../rewrite/facts/module-scan.ts";
import type { WasmModule } from "../../wasm/index.ts";
import { CallTreatment } from "../call-plan.ts";
import { mayRunAnything } from "../context-plan.ts";
import { EntryPoints } from "../entry-points.ts";

/**
 * What calls do to the calling context of a tool that tells its events apart by it. A call adds its place, but for those
 * inside of a recursive component: recursion has the context in which it was entered, however deep it goes.
 */
export class FramePlan {
  /** Where the host comes in. */
  readonly entries: EntryPoints;
  readonly #imported: number;
  readonly #reaches: Uint8Array;
  readonly #component: Int32Array;
  readonly #hooked: ReadonlySet<number>;

  /** `targets`: functions in which something happens. The allocator's own code leads to none of them. */
  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan, targets: readonly number[]) {
    this.#imported = module.importedFunctionCount;
    this.#component = recursiveComponents(module, scan);
    const internals = new Set(allocator.internals);
    this.#hooked = new Set(allocator.functions.map(({ index }) => index));
    this.#reaches = functionsReaching(module, scan, [...targets, ...mayRunAnything(module, scan)], (caller) =>
      internals.has(caller),
    );
    this.entries = new EntryPoints(module, scan, (index) => this.reaches(index));
  }

  /** Whether something can happen while the function runs, so that it matters who called it. */
  reaches(index: number): boolean {
    return this.#reaches[index] === 1;
  }

  /** `CallTreatment` of a call; `callee` is −1 for one through a table or a reference. Keep: the context stays. */
  treatment(caller: number, callee: number, isTail: boolean): number {
    if (callee < 0) {
      if (!this.entries.hostMayCallReferences) return CallTreatment.Push;
      return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    }
    if (!this.reaches(callee) || this.#hooked.has(callee)) return CallTreatment.None;
    if (callee < this.#imported) return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    const component = this.#component[caller - this.#imported];
    const isRecursive = component >= 0 && component === this.#component[callee - this.#imported];
    return isRecursive ? CallTreatment.Keep : CallTreatment.Push;
  }
}
