import { memoryType, type WasmModule } from "../../../code/wasm/index.ts";

/** Custom section of dynamically linked modules, defined by WebAssembly's tool conventions. */
const DYNAMIC_LINKING = /^dylink(\.0)?$/;

export function isDynamicLibrary(module: WasmModule): boolean {
  return module.importedMemoryCount > 0 && module.customs.some(({ name = "" }) => DYNAMIC_LINKING.test(name));
}

/** True if the library can count its accesses in the tables of the module whose memory it uses. */
export function canCountBeside(module: WasmModule): boolean {
  if (!isDynamicLibrary(module) || module.memories.length > 0) return false;
  const { shared, index64 } = memoryType(module, 0);
  return !shared && !index64;
}

export const LIBRARY_SENTENCE =
  "The module is a dynamic library without an allocator: the module that allocates for it records its blocks, but not its accesses to them.";

export const COUNTED_LIBRARY_SENTENCE =
  "The module is a dynamic library: the module whose memory it uses records its accesses, and its blocks without their call paths.";
