export {
  HIDDEN_EXPORT_PREFIX,
  type Instrumented,
  instrument,
  readInstrumentedInfo,
} from "./instrument-module.ts";
export type { HookedFunction, InstrumentedInfo, InstrumentOptions, ShadowLayout } from "./options.ts";
