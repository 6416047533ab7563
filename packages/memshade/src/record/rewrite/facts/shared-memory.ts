import { memoryType, type WasmModule } from "../../../code/wasm/index.ts";

/** True if several instances of a module can share a memory: it is imported and of shared type. */
export function canShareMemory(module: WasmModule): boolean {
  return module.importedMemoryCount > 0 && module.memories.length === 0 && memoryType(module, 0).shared;
}
