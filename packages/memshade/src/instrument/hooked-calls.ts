import { type CallPlan, CallTreatment } from "./call-plan.ts";
import type { AllocatorPlan } from "./find-allocator/plan.ts";

/** Which calls lead elsewhere where the allocator is hooked. By itself a plan without frames. */
export class HookedCalls implements CallPlan {
  protected readonly hooked: ReadonlySet<number>;
  readonly #internal: ReadonlySet<number>;
  readonly #wrappers: ReadonlySet<number>;

  /** Body index by function that was given a wrapper in its old place. */
  readonly moved = new Map<number, number>();

  /** Body index by hooked function, or by helper that the allocator shares, for calls from within the allocator. */
  readonly originals = new Map<number, number>();

  constructor(allocator: AllocatorPlan) {
    this.hooked = new Set(allocator.functions.map((f) => f.index));
    this.#internal = new Set(allocator.internals);
    this.#wrappers = new Set(allocator.wrappers);
  }

  target(caller: number, callee: number): number {
    if (this.#internal.has(caller)) {
      const original = this.originals.get(callee);
      if (original !== undefined) return original;
    } else if (this.#wrappers.has(caller) && !this.hooked.has(callee)) {
      const twin = this.originals.get(callee);
      if (twin !== undefined) return twin;
    }
    return this.moved.get(callee) ?? callee;
  }

  hasFrames(_caller: number): boolean {
    return false;
  }

  treatment(_caller: number, _callee: number, _tail: boolean): number {
    return CallTreatment.None;
  }

  siteOf(codeOffset: number): number {
    return codeOffset;
  }
}
