import { functionCount, type WasmModule } from "../../code/wasm/index.ts";
import type { AllocatorPlan } from "./find/plan.ts";

const Role = { Hooked: 1, Internal: 2, Wrapper: 4 } as const;

export class AllocatorRoles {
  readonly #roles: Uint8Array;

  constructor(module: WasmModule, allocator: AllocatorPlan) {
    this.#roles = new Uint8Array(functionCount(module));
    for (const { index } of allocator.functions) this.#roles[index] |= Role.Hooked;
    for (const index of allocator.internals) this.#roles[index] |= Role.Internal;
    for (const index of allocator.wrappers) this.#roles[index] |= Role.Wrapper;
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
}
