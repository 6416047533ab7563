import type { InstrumentedInfo } from "./options.ts";

const { get: buffer } = Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, "buffer")!;

/** The memory that is followed, if somebody outside has it: what the module imports, or its export. */
export function followedMemory(
  { memoryImport: from, memoryExport }: InstrumentedInfo,
  imports: Readonly<Record<string, unknown>> | undefined,
  exports: Readonly<Record<string, unknown>> | undefined,
): WebAssembly.Memory | undefined {
  let found: unknown;
  // Nothing else is looked at: asking for an import can have effects.
  if (from !== undefined)
    found = (imports?.[from.module] as Record<string, unknown> | undefined)?.[from.field];
  else if (memoryExport !== undefined) found = exports?.[memoryExport];
  return isMemory(found) ? found : undefined;
}

/** Whether a value is a memory, also one from another context of this thread, which has classes of its own. */
export function isMemory(value: unknown): value is WebAssembly.Memory {
  try {
    Reflect.apply(buffer as () => unknown, value, []);
    return true;
  } catch {
    return false;
  }
}
