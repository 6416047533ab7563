import { functionCount, type WasmModule } from "../../code/wasm/index.ts";
import type { CallTargets } from "../rewrite/walk/call-targets.ts";
import { AllocatorRoles } from "./allocator-roles.ts";
import type { AllocatorPlan } from "./find/plan.ts";

/** Which calls lead elsewhere where the allocator is hooked. */
export class HookedCalls implements CallTargets {
  readonly #roles: AllocatorRoles;
  /** Body index by function that was given a wrapper in its old place, 0 for others. */
  readonly #moved: Uint32Array;
  /**
   * Body index by hooked function, or by helper or wrapper that the allocator shares, for calls from within the
   * allocator; 0 for others.
   */
  readonly #originals: Uint32Array;
  #inTwin = false;

  constructor(module: WasmModule, allocator: AllocatorPlan) {
    const count = functionCount(module);
    this.#roles = new AllocatorRoles(module, allocator);
    this.#moved = new Uint32Array(count);
    this.#originals = new Uint32Array(count);
  }

  /** The function's body stands at `body`, and a wrapper in its old place. */
  move(index: number, body: number): void {
    this.#moved[index] = body;
  }

  /** The function's body stands at `body` for calls from within the allocator. */
  keepOriginal(index: number, body: number): void {
    this.#originals[index] = body;
  }

  /** Writes what the allocator calls in place of a function that others call too: its calls come from within. */
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
