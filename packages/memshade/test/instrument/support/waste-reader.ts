import type { InstrumentedInfo } from "../../../src/instrument/index.ts";
import { furtherMemories, type ShadowMemories } from "../../../src/runtime/host/host-calls.ts";
import { WasteReader } from "../../../src/runtime/host/waste/read-waste.ts";

/** Reads what the waste tool has in an instance of the module `original`. */
export function wasteReader(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  original: Uint8Array,
): WasteReader {
  const memories: ShadowMemories = {};
  for (const [name, value] of Object.entries(exports))
    if (/^memshade\.waste(\.\d+)?$/.test(name))
      memories[name.slice("memshade.".length) as "waste"] = value as WebAssembly.Memory;
  const memory = memories.waste as WebAssembly.Memory;
  return new WasteReader(memory, info, () => original, furtherMemories(memories, "waste"));
}
