import type { FrameHeader } from "../cfi/frame-header.ts";
import { type CfiCounts, type CfiDictionary, CfiReader } from "../cfi/reader.ts";
import { CfiRows } from "../cfi/rows.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import { CompactTable } from "./compact-table.ts";

/**
 * Finds rules through `.eh_frame_hdr`, reading only the FDEs that are asked for. Where the header leads astray (an
 * empty FDE can stand in for a real one with the same start) or ends, all sections are read once after all.
 */
export class LazyLookup {
  readonly counts: CfiCounts;
  readonly #cfi: ObjectCfi;
  readonly #header: FrameHeader;
  readonly #dictionary: CfiDictionary;
  readonly #rows: CfiRows;
  readonly #reader: CfiReader;
  #all: CompactTable | undefined;

  constructor(cfi: ObjectCfi, header: FrameHeader, dictionary: CfiDictionary) {
    this.#cfi = cfi;
    this.#header = header;
    this.#dictionary = dictionary;
    this.#rows = new CfiRows(cfi.base, 0);
    this.#reader = new CfiReader(cfi.sections[0], dictionary, this.#rows, cfi.code);
    this.counts = this.#reader.counts;
  }

  find(offset: number): number {
    if (this.#all !== undefined) return this.#all.find(offset);
    const rows = this.#rows;
    const index = this.#header.search(offset + rows.base);
    if (index >= 0) {
      rows.clear();
      // An empty FDE, a damaged one, or one that the header should not lead to: the header cannot be trusted here.
      if (!this.#reader.readFde(this.#header.fdeAt(index)) || rows.fdeStarts[0] > offset)
        return this.#findInAll(offset);
      if (offset < rows.fdeEnds[0]) return this.#lastRowUpTo(offset);
    }
    // Between functions, unless there are sections that the header does not cover.
    return this.#cfi.sections.length > 1 ? this.#findInAll(offset) : 0;
  }

  #lastRowUpTo(offset: number): number {
    const { starts, sets } = this.#rows;
    let low = 0;
    let high = this.#rows.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= offset) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : sets[low - 1];
  }

  #findInAll(offset: number): number {
    const bytes = this.#cfi.sections.reduce((sum, section) => sum + section.bytes.length, 0);
    const rows = new CfiRows(this.#cfi.base, bytes);
    for (const section of this.#cfi.sections) {
      new CfiReader(section, this.#dictionary, rows, this.#cfi.code).readAll();
    }
    const identity = Uint32Array.from({ length: this.#dictionary.rules.count }, (_, set) => set);
    this.#all = CompactTable.build(rows, identity);
    return this.#all.find(offset);
  }
}
