import { memoryType, type WasmModule } from "../../../code/wasm/index.ts";

/** Section of the modules that are linked while a program runs, from WebAssembly's tool conventions. */
const DYNAMIC_LINKING = /^dylink(\.0)?$/;

/** Whether the module is loaded into the memory of another one. */
export function isDynamicLibrary(module: WasmModule): boolean {
  return module.importedMemoryCount > 0 && module.customs.some(({ name = "" }) => DYNAMIC_LINKING.test(name));
}

/** Whether the library can count its accesses in the tables of the module whose memory it uses. */
export function canCountBeside(module: WasmModule): boolean {
  if (!isDynamicLibrary(module) || module.memories.length > 0) return false;
  const { shared, index64 } = memoryType(module, 0);
  return !shared && !index64;
}

export const LIBRARY_SENTENCE =
  "A dynamic library without an allocator of its own: the module that allocates for it records its blocks, but not its accesses to them.";

export const COUNTED_LIBRARY_SENTENCE =
  "A dynamic library: the module whose memory it uses records its accesses, and the blocks it asks for without its own call paths.";
