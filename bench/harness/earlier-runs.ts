import type { SiteRuns } from "../../packages/memshade/src/instrument/index.ts";
import { readInstrumentedInfo } from "../../packages/memshade/src/instrument/index.ts";
import { furtherMemories, type ShadowMemories } from "../../packages/memshade/src/runtime/host/host-calls.ts";
import { WasteReader } from "../../packages/memshade/src/runtime/host/waste/read-waste.ts";
import { siteRunsOf } from "../../packages/memshade/src/runtime/host/waste/site-runs.ts";

const MEMORY = /^memshade\.(waste(?:\.\d+)?)$/;

/** How often the loads and stores of an instance ran, whose exports these are; as the commands keep it between runs. */
export function siteRunsOfInstance(
  module: WebAssembly.Module,
  exports: WebAssembly.Exports,
  original: Uint8Array,
): SiteRuns | undefined {
  const info = readInstrumentedInfo(module);
  const memories: ShadowMemories = {};
  for (const [name, value] of Object.entries(exports)) {
    const [, own] = MEMORY.exec(name) ?? [];
    if (own !== undefined) memories[own as "waste"] = value as WebAssembly.Memory;
  }
  if (info === undefined || memories.waste === undefined) return undefined;
  const reader = new WasteReader(memories.waste, info, () => original, furtherMemories(memories, "waste"));
  return siteRunsOf([reader.read(false)]);
}
