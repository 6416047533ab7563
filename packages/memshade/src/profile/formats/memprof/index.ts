export { functionGuid } from "./guid.ts";
export { heapProfileFromMemprof, type KnownFunction } from "./heap-profile.ts";
export type { RawModule } from "./raw-adder.ts";
export { RawAdder } from "./raw-adder.ts";
export { isInRuntime, memprofFrames, type SourceFrame } from "./source-frames.ts";
export {
  type FramesAtPc,
  symbolizeRaw,
} from "./symbolize-raw.ts";
