export { BlockTable, HOT_COLD_FIELDS } from "./block-table.ts";
export { canonicalSymbol } from "./canonical-symbol.ts";
export { ChainOrder, ChainWalk } from "./chain-walk.ts";
export { Column, freeArray, NarrowColumn } from "./column.ts";
export { countFrames, type FrameCounts } from "./frame-counts.ts";
export { FrameTable, frameAt, framesOf, type MemprofFrame } from "./frame-table.ts";
export { BlockMerge, ruleOf } from "./merge/block-merge.ts";
export { MergedOrder } from "./merge/merged-order.ts";
export { summaryOfMerged, viewMerged } from "./merge/merged-view.ts";
export { ProfileMerger } from "./merge/merger.ts";
export { PackedMibs } from "./merge/packed-mibs.ts";
export { RankedBits } from "./merge/ranked-bits.ts";
export type { MergedProfile } from "./merge/row-index.ts";
export { type OrderedTree, orderTree } from "./ordered-tree.ts";
export {
  blockColumn,
  type DataAccessProfile,
  type DataAccessRecord,
  framesOfStack,
  type MemprofBlocks,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
  type MemprofStacks,
} from "./profile.ts";
export { ProfileBuilder, type RecordRows } from "./profile-builder.ts";
export {
  type BlockWords,
  type MemprofSummary,
  type ProfileView,
  type StackTreeView,
  SummaryBuilder,
  summarize,
  viewOf,
} from "./profile-view.ts";
export {
  type CreateSpillFile,
  type SpilledProfile,
  SpilledRuns,
  type SpillFile,
} from "./runs/spilled-runs.ts";
export { placeOf, shownSummary } from "./shown-summary.ts";
export { SlotTable, StackChains } from "./stack-chains.ts";
export { isUnresolved, type UnresolvedPlace, unresolvedName, unresolvedPlace } from "./unresolved.ts";
