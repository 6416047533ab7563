import type { InstrumentedInfo } from "./options.ts";

const { get: buffer } = Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, "buffer")!;

/** Returns the followed memory if the module imports or exports it. */
export function followedMemory(
  { memoryImport: from, memoryExport }: InstrumentedInfo,
  imports: Readonly<Record<string, unknown>> | undefined,
  exports: Readonly<Record<string, unknown>> | undefined,
): WebAssembly.Memory | undefined {
  let memory: unknown;
  // Only this import is read, because a getter may have effects.
  if (from !== undefined)
    memory = (imports?.[from.module] as Record<string, unknown> | undefined)?.[from.field];
  else if (memoryExport !== undefined) memory = exports?.[memoryExport];
  return isMemory(memory) ? memory : undefined;
}

/** True if a value is a memory, even one from another context of this thread, which has its own classes. */
export function isMemory(value: unknown): value is WebAssembly.Memory {
  try {
    Reflect.apply(buffer as () => unknown, value, []);
    return true;
  } catch {
    return false;
  }
}
