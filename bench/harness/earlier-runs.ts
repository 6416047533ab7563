import { readInstrumentedInfo, type SiteRuns } from "../../packages/memshade/src/tools/index.ts";
import { siteRunsOf } from "../../packages/memshade/src/tools/waste/read/site-runs.ts";
import { wasteReader } from "../../packages/memshade/test/support/waste-reader.ts";

/** How often the loads and stores of an instance ran, whose exports these are; as the commands keep it between runs. */
export function siteRunsOfInstance(
  module: WebAssembly.Module,
  exports: WebAssembly.Exports,
  original: Uint8Array,
): SiteRuns | undefined {
  const info = readInstrumentedInfo(module);
  if (info === undefined || exports["memshade.waste"] === undefined) return undefined;
  return siteRunsOf([wasteReader(exports, info, original).read(false)]);
}
