export { CodeMarks } from "./code-marks.ts";
export { type CallSites, findCallSites } from "./frames/call-sites.ts";
export { FRAME_HEADER_BYTES } from "./frames/frame-shapes.ts";
export { eachIndexEntry } from "./frames/index-table.ts";
export { functionShape, instructionOffsets } from "./function-shapes.ts";
export {
  HIDDEN_EXPORT_PREFIX,
  type Instrumented,
  instrument,
  readInstrumentedInfo,
} from "./instrument-module.ts";
export {
  type AttributionOptions,
  type HookedFunction,
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
export { type FramedSites, framedSites } from "./waste/framed-sites.ts";
export { type ImpliedRuns, impliedRuns } from "./waste/run-counters.ts";
export { type FlowParts, runFlow } from "./waste/run-flow.ts";
export type { SiteRuns } from "./waste/site-runs.ts";
export { findSites, SITE_CLASS_NAMES, SiteClass, type SiteTable } from "./waste/site-table.ts";
export {
  BLOCK_BYTES,
  BriefIds,
  COPY_BYTES,
  LOG_ENTRY_BYTES,
  OFFSET_BYTES,
  OFFSETS,
  READ_BYTE,
  READS_BYTES,
  SITE_BYTES,
  SITE_COUNTERS_BYTES,
  SITE_EVENTS,
  SITE_HEADER_BYTES,
  VALUES_BYTES,
  type WasteLayout,
  WORD_TABLES,
} from "./waste/waste-layout.ts";
export { INIT_BUFFER_BYTES, WasteControl } from "./waste/weave-waste.ts";
export { zeroingFunctions } from "./waste/zeroing-functions.ts";
export type { AttributionLayout } from "./working-set/attribution-layout.ts";
export { accessesAt, type WorkingSetLayout } from "./working-set/layout.ts";
export type { LocalityLayout } from "./working-set/locality-layout.ts";
export {
  attributionRuntimeBytes,
  localityRuntimeBytes,
  workingSetRuntimeBytes,
} from "./working-set/runtime-bytes.ts";
export { attributionLayoutOf } from "./working-set/weave-attribution.ts";
export { localityLayoutOf } from "./working-set/weave-locality.ts";
