import { functionCount, type WasmModule } from "../../code/wasm/index.ts";
import type { CallTargets } from "../rewrite/walk/function-walker.ts";
import { AllocatorRoles } from "./allocator-roles.ts";
import type { AllocatorPlan } from "./find/plan.ts";

export class HookedCalls implements CallTargets {
  readonly #roles: AllocatorRoles;
  /** New body index of functions that were replaced by a wrapper; 0 for all others. */
  readonly #moved: Uint32Array;
  /**
   * Body index for calls from inside the allocator, by hooked function, or by helper or wrapper that the allocator
   * shares; 0 for all others.
   */
  readonly #originals: Uint32Array;
  #inTwin = false;

  constructor(module: WasmModule, allocator: AllocatorPlan) {
    const count = functionCount(module);
    this.#roles = new AllocatorRoles(module, allocator);
    this.#moved = new Uint32Array(count);
    this.#originals = new Uint32Array(count);
  }

  /** Records that a function's body is at `body`, and a wrapper at its old index. */
  move(index: number, body: number): void {
    this.#moved[index] = body;
  }

  /** Records that calls from inside the allocator reach the function's body at `body`. */
  keepOriginal(index: number, body: number): void {
    this.#originals[index] = body;
  }

  /** Writes a copy of a shared function for the allocator. Calls in it count as calls from inside the allocator. */
  inTwin(write: () => void): void {
    this.#inTwin = true;
    write();
    this.#inTwin = false;
  }

  target(caller: number, callee: number): number {
    const roles = this.#roles;
    const original = this.#originals[callee];
    if (original > 0) {
      if (this.#inTwin || roles.isInternal(caller)) return original;
      if (roles.isWrapper(caller) && !roles.isHooked(callee) && !roles.isWrapper(callee)) return original;
    }
    return this.#moved[callee] || callee;
  }
}
