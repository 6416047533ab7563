import { type CallPlan, CallTreatment } from "../contexts/call-plan.ts";
import { functionCount, type WasmModule } from "../wasm/index.ts";
import type { AllocatorPlan } from "./find/plan.ts";

/** What a function is to the allocator. */
const Role = { Hooked: 1, Internal: 2, Wrapper: 4 } as const;

/** Which calls lead elsewhere where the allocator is hooked. By itself a plan without frames. */
export class HookedCalls implements CallPlan {
  /** `Role` bits per function. */
  readonly #roles: Uint8Array;
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
    this.#roles = new Uint8Array(count);
    this.#moved = new Uint32Array(count);
    this.#originals = new Uint32Array(count);
    for (const { index } of allocator.functions) this.#roles[index] |= Role.Hooked;
    for (const index of allocator.internals) this.#roles[index] |= Role.Internal;
    for (const index of allocator.wrappers) this.#roles[index] |= Role.Wrapper;
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

  isHooked(index: number): boolean {
    return (this.#roles[index] & Role.Hooked) !== 0;
  }

  isInternal(index: number): boolean {
    return (this.#roles[index] & Role.Internal) !== 0;
  }

  isWrapper(index: number): boolean {
    return (this.#roles[index] & Role.Wrapper) !== 0;
  }

  target(caller: number, callee: number): number {
    const original = this.#originals[callee];
    if (original > 0) {
      if (this.#inTwin || this.isInternal(caller)) return original;
      if (this.isWrapper(caller) && !this.isHooked(callee) && !this.isWrapper(callee)) return original;
    }
    return this.#moved[callee] || callee;
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
