import type { ValueHistogram } from "./histogram.ts";

/** Reuse behaviour of a whole reference stream. Positions count references from 1. */
export interface ReuseProfile {
  references: number;
  /** Distinct lines: as many references had no earlier one. */
  lines: number;
  /** Position of the line's previous reference subtracted from the reference's own. */
  times: ValueHistogram;
  /** Distinct other lines between the two. */
  distances: ValueHistogram;
  /** Position of the first reference to each line. */
  firsts: ValueHistogram;
  /** References from the last one to each line to the end, that one included. */
  lasts: ValueHistogram;
}
