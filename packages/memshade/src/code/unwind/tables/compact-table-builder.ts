import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import { FastFdes } from "../cfi/fast-fdes.ts";
import type { FdeRows, FdeSink } from "../cfi/fde-sink.ts";
import { LAST_OFFSET, OFFSET_BIAS } from "../cfi/rows.ts";
import type { RuleSets } from "../cfi/rule-sets.ts";
import type { UnwindWasm } from "../wasm-module.ts";
import { BLOCK_BITS, BLOCK_BYTES, type CompactArrays, CompactTable, MOST_SETS } from "./compact-table.ts";
import type { ReducedRules } from "./reduce.ts";

/** Entries that may be left behind unused where blocks were joined, as a share; beyond that all are copied. */
const MOST_LEFTOVERS = 1 / 64;

/** Bytes of call frame information per row and per FDE in large libraries, or a little less. */
const BYTES_PER_ROW = 5;
const BYTES_PER_FDE = 40;

/** Number of the block that an offset, minus `OFFSET_BIAS`, lies in. */
function blockOf(offset: number): number {
  return (offset >> BLOCK_BITS) + OFFSET_BIAS / BLOCK_BYTES;
}

/** A run of FDEs in ascending order: its range of code, and its entries. */
interface Segment {
  start: number;
  end: number;
  firstEntry: number;
  lastEntry: number;
}

/**
 * Makes a table while FDEs are read. Linkers leave nearly all of them in the order of the code: entries are written as
 * they come, a new segment begins where the order breaks (`assembly/table.ts`), and in the end an index of blocks puts the
 * segments in order. Offsets are those of the code from the base of the object minus `OFFSET_BIAS`.
 */
export class CompactTableBuilder implements FdeSink {
  readonly fast: FastFdes;

  /**
   * @param sectionBytes size of all sections, for which room is made
   * @param shortestGap bytes from which on a gap between functions has no rule; shorter ones keep that in front of them
   */
  constructor(rules: RuleSets, reduced: ReducedRules, sectionBytes: number, shortestGap: number) {
    this.fast = new FastFdes(rules, (set) => {
      const kept = reduced.of(set >>> 0);
      return kept < MOST_SETS ? kept : 0;
    });
    const rows = Math.ceil(sectionBytes / BYTES_PER_ROW);
    this.fast.wasm.beginTable(rows, Math.ceil(sectionBytes / BYTES_PER_FDE), shortestGap);
  }

  /** Number of rows that were added. */
  get rowCount(): number {
    return this.fast.wasm.rowCount.value;
  }

  addFde(start: number, size: number, { first, count, deltas, sets }: FdeRows): void {
    const { wasm } = this.fast;
    const end = Math.min(start + size, LAST_OFFSET);
    wasm.beginFde(start, end, count);
    const { rows } = this.fast.views;
    for (let done = 0; done < count; done += rows.deltas.length) {
      const from = first + done;
      const added = Math.min(count - done, rows.deltas.length);
      rows.deltas.set(deltas.subarray(from, from + added));
      rows.sets.set(sets.subarray(from, from + added));
      wasm.addRows(start, end, 0, added);
    }
  }

  /** The table of all FDEs. */
  build(): CompactTable {
    const { wasm } = this.fast;
    wasm.endTable();
    const table = new TableParts(wasm).inOrder();
    if (table !== undefined) return table;
    // FDEs overlap: two sections describe the same code, or the file is damaged.
    wasm.resolveOverlaps();
    return new TableParts(wasm).inOrder()!;
  }
}

/** What was written while FDEs were read. */
class TableParts {
  readonly #wasm: UnwindWasm;
  readonly #segments: readonly Segment[];
  readonly #marks: Int32Array;
  readonly #entries: Uint32Array;

  constructor(wasm: UnwindWasm) {
    this.#wasm = wasm;
    const { buffer } = wasm.memory;
    const entryCount = wasm.entryCount.value;
    this.#entries = new Uint32Array(buffer, wasm.entries.value, entryCount);
    this.#marks = new Int32Array(buffer, wasm.marks.value, 2 * wasm.markCount.value);
    const segmentCount = wasm.segmentCount.value;
    const words = new Int32Array(buffer, wasm.segments.value, 3 * segmentCount);
    this.#segments = Array.from({ length: segmentCount }, (_, i) => ({
      start: words[3 * i],
      end: words[3 * i + 1],
      firstEntry: words[3 * i + 2],
      lastEntry: i + 1 < segmentCount ? words[3 * i + 5] : entryCount,
    }));
  }

  /** The table; undefined if FDEs overlap. */
  inOrder(): CompactTable | undefined {
    const parts = this.#partsInOrder();
    if (parts === undefined) return undefined;
    const wasm = this.#wasm;
    const blockCount = blockOf(parts.at(-1)?.end ?? -OFFSET_BIAS) + 1;
    wasm.beginIndex(blockCount);
    for (const { firstEntry, lastEntry } of parts) wasm.indexEntries(firstEntry, lastEntry);
    wasm.skipBlocks(blockCount);
    const { buffer } = wasm.memory;
    const entryCount = this.#entries.length;
    const count = wasm.entryCount.value;
    const arrays = {
      firsts: new Uint32Array(buffer, wasm.firsts.value, blockCount),
      counts: new Uint16Array(buffer, wasm.counts.value, blockCount),
      before: new Uint32Array(buffer, wasm.before.value, blockCount),
      entries: new Uint32Array(buffer, wasm.entries.value, count),
      count,
    };
    return new CompactTable(count - entryCount > entryCount * MOST_LEFTOVERS ? packed(arrays) : arrays);
  }

  /** The segments by address, cut where another lies in a gap between their functions; undefined if functions overlap. */
  #partsInOrder(): Segment[] | undefined {
    const waiting = this.#segments.toSorted((a, b) => b.start - a.start);
    /** What is left of segments behind a cut, the one with the lowest start last. */
    const rests: Segment[] = [];
    const takeNext = () =>
      (rests.at(-1)?.start ?? Number.POSITIVE_INFINITY) < (waiting.at(-1)?.start ?? Number.POSITIVE_INFINITY)
        ? rests.pop()
        : (waiting.pop() ?? rests.pop());
    const parts: Segment[] = [];
    let end = -OFFSET_BIAS;
    for (let part = takeNext(); part !== undefined; part = takeNext()) {
      if (part.start < end) return undefined;
      const next = waiting.at(-1)?.start ?? Number.POSITIVE_INFINITY;
      if (part.end > next) {
        const cut = this.#entryBehind(part, next);
        // Something other than a gap: a function reaches into the next segment.
        if (cut === part.firstEntry || this.#entries[cut - 1] >>> BLOCK_BITS !== 0) return undefined;
        rests.push({ ...part, start: this.#startOf(cut), firstEntry: cut });
        part = { ...part, end: next, lastEntry: cut };
      }
      parts.push(part);
      end = part.end;
    }
    return parts;
  }

  /** First entry of a segment that begins behind an offset. */
  #entryBehind({ firstEntry, lastEntry }: Segment, offset: number): number {
    return partitionPoint(firstEntry, lastEntry, (entry) => this.#startOf(entry) <= offset);
  }

  /** Offset at which an entry begins. */
  #startOf(entry: number): number {
    const block = this.#marks[2 * this.#wasm.markOf(entry)];
    return block * BLOCK_BYTES + (this.#entries[entry] & (BLOCK_BYTES - 1));
  }
}

/** The same table with its blocks one behind the other. */
function packed({ firsts, counts, before, entries }: CompactArrays): CompactArrays {
  let total = 0;
  for (const count of counts) total += count;
  const packedEntries = new Uint32Array(total);
  let count = 0;
  for (let block = 0; block < counts.length; block++) {
    const first = firsts[block];
    packedEntries.set(entries.subarray(first, first + counts[block]), count);
    firsts[block] = count;
    count += counts[block];
  }
  return { firsts, counts, before, entries: packedEntries, count };
}
