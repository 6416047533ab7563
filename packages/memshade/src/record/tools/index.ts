export { AllocatorMismatch, checkAllocatorOption } from "../allocator/find/index.ts";
export type { Instrumented } from "./assemble-module.ts";
export { readInstrumentedInfo } from "./assemble-module.ts";
export { instrument, instrumentValid } from "./instrument.ts";
export {
  type AttributionOptions,
  type InstrumentedInfo,
  type InstrumentOptions,
  type LocalityOptions,
  type ShadowLayout,
  TOOL_NAMES,
  type ToolName,
  type WasteOptions,
  type WorkingSetOptions,
  type WovenToolName,
} from "./options.ts";
export type { SiteRuns } from "./waste/site-table.ts";
export { attributionLayoutOf } from "./working-set/attribution/memory-plan.ts";
export type { WorkingSetLayout } from "./working-set/memory-plan.ts";
