import { isMemory } from "./is-memory.ts";
import type { InstrumentedInfo } from "./options.ts";

/** The memory that is followed, if somebody outside has it: what the module imports, or its export. */
export function followedMemory(
  { memoryImport: from, memoryExport }: InstrumentedInfo,
  imports: Readonly<Record<string, unknown>> | undefined,
  exports: Readonly<Record<string, unknown>> | undefined,
): WebAssembly.Memory | undefined {
  // Nothing else is looked at: asking for an import can have effects.
  const found =
    from === undefined
      ? memoryExport === undefined
        ? undefined
        : exports?.[memoryExport]
      : (imports?.[from.module] as Record<string, unknown> | undefined)?.[from.field];
  return isMemory(found) ? found : undefined;
}
