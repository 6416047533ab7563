export { type CacheMisses, simulateCache } from "./cache.ts";
export { COMMON_CACHES, type CommonCache } from "./common-caches.ts";
export { ReuseTimeModel } from "./estimates.ts";
export { FootprintCurve } from "./footprint.ts";
export { binned, binOf, binStart, type Summary, summarize, ValueHistogram } from "./histogram.ts";
export { LINE_BYTES, linesOf, linesTouched } from "./lines.ts";
export { cacheSizesUpTo, MissRatioCurve, meanAbsoluteError } from "./miss-ratio.ts";
export { type ReuseProfile, ReuseRecorder, reuseProfile } from "./reuse.ts";
export { COLD, ReuseDistances } from "./reuse-distance.ts";
export {
  HASH_RANGE,
  hashLine,
  type ShardsOptions,
  type ShardsProfile,
  ShardsRecorder,
  shardsCurve,
} from "./shards.ts";
