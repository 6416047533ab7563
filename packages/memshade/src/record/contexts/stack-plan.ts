import type { WasmModule } from "../../code/wasm/index.ts";
import { AllocatorRoles } from "../allocator/allocator-roles.ts";
import type { AllocatorPlan } from "../allocator/find/plan.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import { CallPlan, CallTreatment } from "./call-plan.ts";

/** What calls do to the shadow stack: those below which an allocation can happen write frames, outside of the allocator. */
export class StackPlan extends CallPlan {
  readonly #roles: AllocatorRoles;

  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan) {
    const roles = new AllocatorRoles(module, allocator);
    const allocating = allocator.functions.filter(({ kind }) => kind !== "release");
    super(
      module,
      scan,
      allocating.map(({ index }) => index),
      // What the allocator asks of the host (memory, or to end it all) allocates nothing.
      (caller, callee) => callee < module.importedFunctionCount && roles.isInternal(caller),
    );
    this.#roles = roles;
  }

  /** Whether calls in this function may need frames at all. */
  hasFrames(caller: number): boolean {
    return this.reaches(caller) && !this.#roles.isInternal(caller);
  }

  treatment(caller: number, callee: number, isTail: boolean): number {
    if (!this.hasFrames(caller)) return CallTreatment.None;
    const folded = this.#roles.isWrapper(caller);
    if (callee < 0) {
      if (this.entries.hostMayCallReferences)
        return isTail || folded ? CallTreatment.KeepHost : CallTreatment.Host;
      return isTail || folded ? CallTreatment.Keep : CallTreatment.Push;
    }
    if (!this.reaches(callee)) return CallTreatment.None;
    if (this.#roles.isInternal(callee) && !this.#roles.isHooked(callee)) return CallTreatment.None;
    if (callee < this.imported) return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    return folded || this.isRecursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }
}
