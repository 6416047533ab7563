export type { HookedFunction } from "../allocator/allocation-notes.ts";
export { type CallSites, findCallSites } from "../contexts/frames/call-sites.ts";
export { FRAME_HEADER_BYTES } from "../contexts/frames/frame-shapes.ts";
export { eachIndexEntry } from "../contexts/frames/index-table.ts";
export { CodeMarks } from "../rewrite/write/code-marks.ts";
export { readInstrumentedInfo } from "./describe.ts";
export {
  HIDDEN_EXPORT_PREFIX,
  type Instrumented,
  instrument,
} from "./instrument.ts";
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
export { type ImpliedRuns, impliedRuns } from "./waste/pass/counters/run-counters.ts";
export { type FlowParts, runFlow } from "./waste/pass/counters/run-flow.ts";
export { type FramedSites, framedSites } from "./waste/pass/sites/framed-sites.ts";
export type { SiteRuns } from "./waste/pass/sites/site-runs.ts";
export { findSites, SITE_CLASS_NAMES, SiteClass, type SiteTable } from "./waste/pass/sites/site-table.ts";
export { zeroingFunctions } from "./waste/pass/sites/zeroing-functions.ts";
export {
  BriefIds,
  READ_BYTE,
  SITE_COUNTERS_BYTES,
  SITE_EVENTS,
  type WasteLayout,
  WORD_TABLES,
} from "./waste/pass/waste-layout.ts";
export type { AttributionLayout } from "./working-set/attribution/memory-plan.ts";
export { attributionLayoutOf } from "./working-set/attribution/pass/weave-attribution.ts";
export type { LocalityLayout } from "./working-set/locality/memory-plan.ts";
export { localityLayoutOf } from "./working-set/locality/pass/weave-locality.ts";
export { accessesAt, type WorkingSetLayout } from "./working-set/memory-plan.ts";
