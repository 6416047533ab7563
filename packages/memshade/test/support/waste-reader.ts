import { furtherMemories, type ShadowMemories } from "../../src/record/host/instance/host-calls.ts";
import type { InstrumentedInfo } from "../../src/record/tools/index.ts";
import { WasteReader } from "../../src/record/tools/waste/read/read-waste.ts";

export function wasteReader(exports: WebAssembly.Exports, info: InstrumentedInfo): WasteReader {
  const memories: ShadowMemories = {};
  for (const [name, value] of Object.entries(exports))
    if (/^memshade\.waste(\.\d+)?$/.test(name))
      memories[name.slice("memshade.".length) as "waste"] = value as WebAssembly.Memory;
  const memory = memories.waste as WebAssembly.Memory;
  return new WasteReader(memory, info, furtherMemories(memories, "waste"));
}
