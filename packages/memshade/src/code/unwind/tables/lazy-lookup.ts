import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { FdeRows, FdeSink } from "../cfi/fde-sink.ts";
import type { FrameHeader } from "../cfi/frame-header.ts";
import { type CfiCounts, type CfiDictionary, CfiReader } from "../cfi/reader.ts";
import { OFFSET_BIAS } from "../cfi/rows.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";
import { readTable } from "./read-table.ts";
import type { ReducedRules } from "./reduce.ts";

/** Rows that are kept at most; beyond that all are dropped. Profiles of large programs hit a tenth of this. */
const MOST_ROWS = 1 << 20;

/** A function that was looked up, with its rows. */
class KeptFde {
  readonly start: number;
  readonly end: number;
  readonly #deltas: Int32Array;
  readonly #sets: Int32Array;

  constructor(start: number, end: number, { first, deltas, sets, count }: FdeRows) {
    this.start = start;
    this.end = end;
    this.#deltas = deltas.slice(first, first + count);
    this.#sets = sets.slice(first, first + count);
  }

  get rowCount(): number {
    return this.#deltas.length;
  }

  /** Rule set of the last row that begins at or before an offset. */
  find(offset: number): number {
    const delta = offset - this.start;
    const deltas = this.#deltas;
    return this.#sets[partitionPoint(0, deltas.length, (index) => deltas[index] <= delta) - 1];
  }
}

/** Takes the FDE that is read. */
class LastFde implements FdeSink {
  #fde: KeptFde | undefined;

  addFde(biasedStart: number, size: number, rows: FdeRows): void {
    const start = biasedStart + OFFSET_BIAS;
    this.#fde = new KeptFde(start, start + size, rows);
  }

  /** The FDE that was read since the last call. */
  take(): KeptFde | undefined {
    const fde = this.#fde;
    this.#fde = undefined;
    return fde;
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
  readonly #read = new LastFde();
  readonly #reader: CfiReader;
  /** FDEs by their index in the header; undefined where the header leads to none. */
  readonly #kept = new Map<number, KeptFde | undefined>();
  #keptRows = 0;
  #all: { find(offset: number): number } | undefined;

  constructor(cfi: ObjectCfi, header: FrameHeader, dictionary: CfiDictionary, reduced: ReducedRules) {
    this.#cfi = cfi;
    this.#header = header;
    this.#dictionary = dictionary;
    this.#reduced = reduced;
    this.#reader = new CfiReader(cfi.sections[0], dictionary, cfi, this.#read);
  }

  /** What was met so far. */
  get counts(): CfiCounts {
    return this.#reader.counts;
  }

  find(offset: number): number {
    if (this.#all !== undefined) return this.#all.find(offset);
    const index = this.#header.search(offset + this.#cfi.base);
    if (index >= 0) {
      const fde = this.#fdeAt(index);
      // An empty FDE, a damaged one, or one that the header should not lead to: the header cannot be trusted here.
      if (fde === undefined || fde.start > offset) return this.#findInAll(offset);
      if (offset < fde.end) return this.#reduced.of(fde.find(offset));
    }
    // Between functions, unless there are sections that the header does not cover.
    return this.#cfi.sections.length > 1 ? this.#findInAll(offset) : 0;
  }

  #fdeAt(index: number): KeptFde | undefined {
    if (this.#kept.has(index)) return this.#kept.get(index);
    this.#reader.readFde(this.#header.fdeAt(index));
    const fde = this.#read.take();
    this.#keptRows += fde?.rowCount ?? 0;
    if (this.#keptRows > MOST_ROWS) {
      this.#kept.clear();
      this.#keptRows = fde?.rowCount ?? 0;
    }
    this.#kept.set(index, fde);
    return fde;
  }

  #findInAll(offset: number): number {
    this.#all = readTable(this.#cfi, this.#dictionary, this.#reduced, 1).table;
    return this.#all.find(offset);
  }
}
