import { MIB_FIELDS } from "../../../model/mib-fields.ts";

/** Numbers that are coded, by what they are. */
export const COLUMN = {
  inputs: 0,
  binaries: 1,
  unmatched: 2,
  buildIdBytes: 3,
  contexts: 4,
  hasHistograms: 5,
  framesLeft: 6,
  framesAdded: 7,
  isNewFrame: 8,
  knownFrame: 9,
  isNewFunction: 10,
  knownFunction: 11,
  isPlace: 12,
  module: 13,
  offset: 14,
  isOtherFile: 15,
  file: 16,
  startLine: 17,
  startLineAgain: 18,
  lineOffset: 19,
  lineOffsetAgain: 20,
  column: 21,
  isInline: 22,
  discriminator: 23,
  histogramLength: 24,
  histogramEntry: 25,
  /** The fields of a block follow, by tag. */
  field: 25,
} as const;

/** Fields of a block but those of the histogram, whose tags are the last ones. */
export const FIELDS = MIB_FIELDS.filter(({ name }) => !name.startsWith("accessHistogram"));

export const COLUMNS = COLUMN.field + FIELDS.length + 1;
