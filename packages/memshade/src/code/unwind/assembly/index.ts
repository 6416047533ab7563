// The inner loops of reading call frame information, and of making tables of it.
export {
  CIES,
  CIE_SLOTS,
  FDE_ROWS,
  FDE_SIZES,
  FDE_STARTS,
  MOST_FDES,
  MOST_ROWS,
  REGIONS,
  ROW_DELTAS,
  ROW_SETS,
} from "./layout";
export { TRANSITION_BITS, TRANSITION_TABLES, TRANSITIONS, WINDOW, WINDOW_BYTES } from "./layout";
export { addRows, beginFde, beginTable, endTable, resolveOverlaps } from "./table";
export { before, beginIndex, counts, firsts, indexEntries, markOf, skipBlocks } from "./block-index";
export { entries, entryCount, markCount, marks, rowCount, segmentCount, segments } from "./table";
export { fdeCount, readFdes, setSection, setWindow } from "./fast-fdes";
