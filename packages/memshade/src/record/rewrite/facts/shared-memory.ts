import { memoryType, type WasmModule } from "../../../code/wasm/index.ts";

/** Whether several instances of a module can have the same memory: it comes from outside and is made for it. */
export function canShareMemory(module: WasmModule): boolean {
  return module.importedMemoryCount > 0 && module.memories.length === 0 && memoryType(module, 0).shared;
}
