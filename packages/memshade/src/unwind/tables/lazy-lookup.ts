import type { FrameHeader } from "../cfi/frame-header.ts";
import { type CfiCounts, type CfiDictionary, CfiReader } from "../cfi/reader.ts";
import { type FdeSink, OFFSET_BIAS, type ProgramRows } from "../cfi/rows.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import { readTable } from "./read-table.ts";
import type { ReducedRules } from "./reduce.ts";

/** Keeps the last FDE, and finds the row of an offset in it. */
class LastFde implements FdeSink {
  start = 0;
  end = 0;
  #rows: ProgramRows | undefined;

  addFde(biasedStart: number, size: number, rows: ProgramRows): void {
    this.start = biasedStart + OFFSET_BIAS;
    this.end = this.start + size;
    this.#rows = rows;
  }

  /** Rule set of the last row that begins at or before an offset. */
  find(offset: number): number {
    const { count, deltas, sets } = this.#rows!;
    const delta = offset - this.start;
    let row = 0;
    while (row + 1 < count && deltas[row + 1] <= delta) row++;
    return sets[row];
  }
}

/**
 * Finds rules through `.eh_frame_hdr`, reading only the FDEs that are asked for. Where the header leads astray (an
 * empty FDE can stand in for a real one with the same start) or ends, all sections are read once after all.
 */
export class LazyLookup {
  readonly #cfi: ObjectCfi;
  readonly #header: FrameHeader;
  readonly #dictionary: CfiDictionary;
  readonly #reduced: ReducedRules;
  readonly #fde = new LastFde();
  readonly #reader: CfiReader;
  #all: { find(offset: number): number } | undefined;

  constructor(cfi: ObjectCfi, header: FrameHeader, dictionary: CfiDictionary, reduced: ReducedRules) {
    this.#cfi = cfi;
    this.#header = header;
    this.#dictionary = dictionary;
    this.#reduced = reduced;
    this.#reader = new CfiReader(cfi.sections[0], dictionary, cfi, this.#fde);
  }

  /** What was met so far. */
  get counts(): CfiCounts {
    return this.#reader.counts;
  }

  find(offset: number): number {
    if (this.#all !== undefined) return this.#all.find(offset);
    const index = this.#header.search(offset + this.#cfi.base);
    if (index >= 0) {
      const fde = this.#fde;
      // An empty FDE, a damaged one, or one that the header should not lead to: the header cannot be trusted here.
      if (!this.#reader.readFde(this.#header.fdeAt(index)) || fde.start > offset)
        return this.#findInAll(offset);
      if (offset < fde.end) return this.#reduced.of(fde.find(offset));
    }
    // Between functions, unless there are sections that the header does not cover.
    return this.#cfi.sections.length > 1 ? this.#findInAll(offset) : 0;
  }

  #findInAll(offset: number): number {
    this.#all = readTable(this.#cfi, this.#dictionary, this.#reduced).table;
    return this.#all.find(offset);
  }
}
