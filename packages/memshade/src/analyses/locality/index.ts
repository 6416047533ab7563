export { COMMON_CACHES, LINE_BYTES } from "./common-caches.ts";
export { ReuseTimeModel } from "./estimates.ts";
export { FootprintCurve } from "./footprint.ts";
export { binned, binOf, binStart, summarize, ValueHistogram } from "./histogram.ts";
export { MissRatioCurve } from "./miss-ratio.ts";
export type { ReuseProfile } from "./reuse-profile.ts";
export { shardsCurve } from "./shards.ts";
