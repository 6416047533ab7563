// `memshade` in a web page: all of the library that needs no files.
export { UserError } from "./bytes/errors.ts";
export { type RawProfile, readRaw, readRawDumps, writeRaw } from "./formats/memprof-raw/index.ts";
export {
  type GuardedImports,
  guardHostFunctions,
  type InstrumentedSource,
  type LoaderOptions,
  readProfile,
  readProfileFromImage,
  type WatchedInstance,
  watchInstance,
} from "./host/loader.ts";
export {
  type Instantiate,
  ProfiledError,
  type ProfileOptions,
  type ProfileResult,
  profile,
  type Recording,
} from "./host/profile.ts";
export { type Profile, type ProfileFile, profileFiles } from "./host/run/recorder.ts";
export type { Mib } from "./model/mib.ts";
export type { Run, RunEnd, RunHeap, RunModule } from "./model/run.ts";
export type { FileRequest } from "./symbolize/file-request.ts";
export type { Frame as SymbolizedFrame } from "./symbolize/frame.ts";
export { Symbolizer, type SymbolizerOptions } from "./symbolize/symbolizer.ts";
export type { HeapOptions } from "./tools/heap-options.ts";
export {
  type Instrumented,
  type InstrumentedInfo,
  type InstrumentOptions,
  instrument,
  readInstrumentedInfo,
} from "./tools/index.ts";
export * from "./unwinding.ts";
