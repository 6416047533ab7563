export { COMMON_CACHES, LINE_BYTES } from "./common-caches.ts";
export { ReuseTimeModel } from "./estimates.ts";
export { FootprintCurve } from "./footprint.ts";
export { binned, binStart, summarize, ValueHistogram } from "./histogram.ts";
export { MissRatioCurve } from "./miss-ratio.ts";
export { shardsCurve } from "./shards.ts";
