// `memshade` for web pages: all functions of the library that need no files.
export { UserError } from "./ground/bytes/errors.ts";
export type { Frame as SymbolizedFrame } from "./names/symbolize/frame.ts";
export type { FileRequest } from "./names/symbolize/symbolizer.ts";
export { Symbolizer, type SymbolizerOptions } from "./names/symbolize/symbolizer.ts";
export { type RawProfile, readRaw, readRawDumps, writeRaw } from "./profile/formats/memprof-raw/index.ts";
export type { Mib } from "./profile/model/mib.ts";
export type { Run, RunEnd, RunHeap, RunModule } from "./profile/model/run.ts";
export {
  type GuardedImports,
  guardHostFunctions,
  type InstrumentedSource,
  type LoaderOptions,
  readProfile,
  readProfileFromImage,
  type WatchedInstance,
  watchInstance,
} from "./record/host/loader.ts";
export {
  type Instantiate,
  ProfiledError,
  type ProfileOptions,
  type ProfileResult,
  profile,
  type Recording,
} from "./record/host/profile.ts";
export { type Profile, type ProfileFile, profileFiles } from "./record/host/run/recorder.ts";
export type { HeapOptions } from "./record/tools/heap-options.ts";
export {
  type Instrumented,
  type InstrumentedInfo,
  type InstrumentOptions,
  instrument,
  readInstrumentedInfo,
} from "./record/tools/index.ts";
export * from "./unwinding.ts";
