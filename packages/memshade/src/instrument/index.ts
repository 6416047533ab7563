export {
  HIDDEN_EXPORT_PREFIX,
  type Instrumented,
  instrument,
  readInstrumentedInfo,
} from "./instrument-module.ts";
export {
  type HookedFunction,
  type InstrumentedInfo,
  type InstrumentOptions,
  type ShadowLayout,
  TOOL_NAMES,
  type ToolName,
  type WasteOptions,
  type WorkingSetOptions,
  type WovenToolName,
} from "./options.ts";
