import { decodeModule, memoryCount, memoryType } from "../../../code/wasm/index.ts";

/** Returns the declared initial size of a module's memory in bytes; 0 if it has none. */
export function initialMemory(bytes: Uint8Array): number {
  const module = decodeModule(bytes);
  if (memoryCount(module) === 0) return 0;
  const { minimum, pageSizeLog2 } = memoryType(module, 0);
  return minimum * 2 ** pageSizeLog2;
}
