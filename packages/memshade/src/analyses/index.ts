export type { BlockMeasure } from "./block-measure.ts";
export { type CallerNode, callerTree } from "./caller-tree.ts";
export { type ContextGroups, GROUPINGS, type GroupBy, groupContexts, sumByGroup } from "./groups.ts";
export { type ClassifiedSite, classifySites, type DecidingSuffix, type TypeTotals } from "./hot-cold.ts";
export { leaks, liveAtPeak } from "./leaks.ts";
export { METRICS, type Metric, type MetricKey, measureGroups, rank } from "./metrics.ts";
export { LONGEST_TEMPORARY_LIFETIME, temporaryBlocks } from "./temporary.ts";
export { type HeapTotals, heapTotals } from "./totals.ts";
export { neverAccessed, writtenNeverRead } from "./unused-blocks.ts";
