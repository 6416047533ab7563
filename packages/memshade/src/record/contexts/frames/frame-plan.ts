import type { WasmModule } from "../../../code/wasm/index.ts";
import type { AllocatorPlan } from "../../allocator/find/plan.ts";
import type { ModuleScan } from "../../rewrite/facts/module-scan.ts";
import { CallPlan, CallTreatment } from "../call-plan.ts";

/** What calls do to frames that stay: each has a slot, and so a place of its own, whether it is a tail call or not. */
export class FramePlan extends CallPlan {
  readonly #hooked: ReadonlySet<number>;

  /** `targets`: functions in which something happens. The allocator's own code leads to none of them. */
  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan, targets: readonly number[]) {
    const internals = new Set(allocator.internals);
    super(module, scan, targets, (caller) => internals.has(caller));
    this.#hooked = new Set(allocator.functions.map(({ index }) => index));
  }

  treatment(caller: number, callee: number, isTail: boolean): number {
    if (callee < 0) {
      if (!this.entries.hostMayCallReferences) return CallTreatment.Push;
      return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    }
    if (!this.reaches(callee) || this.#hooked.has(callee)) return CallTreatment.None;
    if (callee < this.imported) return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    return this.isRecursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }
}
