import type { CfiRows, FdeSink, ProgramRows } from "../cfi/rows.ts";
import { BLOCK_BYTES, CompactTable } from "./compact-table.ts";
import { orderFdes } from "./fde-order.ts";
import type { ReducedRules } from "./reduce.ts";

/** Gaps between functions shorter than this are padding: they keep the rule in front of them. */
const MIN_GAP = 16;

/** A run of FDEs in ascending order: its range of code, and its entries. */
interface Segment {
  start: number;
  end: number;
  firstEntry: number;
  lastEntry: number;
}

/**
 * Makes a table while FDEs are read. Linkers leave nearly all of them in the order of the code: entries are written as
 * they come, a new segment begins where the order breaks, and in the end the segments are put in order.
 */
export class CompactTableBuilder implements FdeSink {
  /** Number of rows that were added. */
  rowCount = 0;
  readonly #reduced: ReducedRules;
  #count = 0;
  #lows: Uint16Array;
  #sets: Uint16Array | Uint32Array;
  readonly #segments: Segment[] = [];
  // Where the entries of a block begin: its number, and the entry.
  #markCount = 0;
  #markBlocks = new Uint32Array(1024);
  #markEntries = new Uint32Array(1024);
  #lastBlock = -1;
  #lastSet = 0;
  /** End of the last FDE. */
  #end = 0;
  /** Highest end of any. */
  #highest = 0;

  /** @param capacity number of entries that room is made for */
  constructor(reduced: ReducedRules, capacity: number) {
    this.#reduced = reduced;
    this.#lows = new Uint16Array(capacity + 16);
    this.#sets = new Uint16Array(capacity + 16);
  }

  addFde(start: number, end: number, { count, deltas, sets }: ProgramRows): void {
    this.beginFde(start, end, count);
    const size = end - start;
    for (let row = 0; row < count && deltas[row] < size; row++) this.addRow(start + deltas[row], sets[row]);
  }

  /** Begins the next FDE, or part of one. */
  beginFde(start: number, end: number, rowCount: number): void {
    this.#reserve(rowCount + 2);
    if (this.#breaksOrder(start)) this.#beginSegment(start);
    else if (start - this.#end >= MIN_GAP && this.#lastSet !== 0) this.#add(this.#end, 0);
    this.#end = end;
    if (end > this.#highest) this.#highest = end;
  }

  /** Whether an FDE cannot go on behind the last one: it lies in front of it, or others may lie between. */
  #breaksOrder(start: number): boolean {
    if (start < this.#end || this.#segments.length === 0) return true;
    return this.#end < this.#highest && start - this.#end >= MIN_GAP;
  }

  /** Adds a row of the FDE that began last. */
  addRow(start: number, fullSet: number): void {
    this.rowCount++;
    const set = this.#reduced.of(fullSet);
    if (set !== this.#lastSet) this.#add(start, set);
  }

  /** The table of all FDEs; undefined if some of them overlap. */
  build(): CompactTable | undefined {
    this.#endSegment();
    const parts = this.#partsInOrder();
    if (parts === undefined) return undefined;
    const end = parts.at(-1)?.end ?? 0;
    const blocks = new Uint32Array(Math.floor(end / BLOCK_BYTES) + 2);
    const lows = new Uint16Array(this.#count);
    const isWide = this.#sets instanceof Uint32Array;
    const sets = isWide ? new Uint32Array(this.#count) : new Uint16Array(this.#count);
    let count = 0;
    let nextBlock = 0;
    for (const { firstEntry, lastEntry } of parts) {
      lows.set(this.#lows.subarray(firstEntry, lastEntry), count);
      sets.set(this.#sets.subarray(firstEntry, lastEntry), count);
      for (let mark = this.#markOf(firstEntry - 1) + 1; mark < this.#markCount; mark++) {
        if (this.#markEntries[mark] >= lastEntry) break;
        const entry = this.#markEntries[mark] - firstEntry + count;
        while (nextBlock <= this.#markBlocks[mark]) blocks[nextBlock++] = entry;
      }
      count += lastEntry - firstEntry;
    }
    blocks.fill(count, nextBlock);
    return new CompactTable(blocks, lows, sets);
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
    let end = 0;
    for (let part = takeNext(); part !== undefined; part = takeNext()) {
      if (part.start < end) return undefined;
      const next = waiting.at(-1)?.start ?? Number.POSITIVE_INFINITY;
      if (part.end > next) {
        const cut = this.#entryBehind(part, next);
        // Something other than a gap: a function reaches into the next segment.
        if (cut === part.firstEntry || this.#sets[cut - 1] !== 0) return undefined;
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
    let low = firstEntry;
    let high = lastEntry;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#startOf(middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Offset at which an entry begins. */
  #startOf(entry: number): number {
    return this.#markBlocks[this.#markOf(entry)] * BLOCK_BYTES + (this.#lows[entry] % BLOCK_BYTES);
  }

  /** Last mark at or in front of an entry; −1 if there is none. */
  #markOf(entry: number): number {
    let low = 0;
    let high = this.#markCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#markEntries[middle] <= entry) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #beginSegment(start: number): void {
    this.#endSegment();
    this.#segments.push({ start, end: start, firstEntry: this.#count, lastEntry: this.#count });
    this.#lastBlock = -1;
    this.#lastSet = 0;
  }

  #endSegment(): void {
    const segment = this.#segments.at(-1);
    if (segment === undefined) return;
    if (this.#lastSet !== 0) this.#add(this.#end, 0);
    segment.end = this.#end;
    segment.lastEntry = this.#count;
  }

  #add(offset: number, set: number): void {
    const block = Math.floor(offset / BLOCK_BYTES);
    if (block !== this.#lastBlock) this.#mark(block);
    this.#lows[this.#count] = offset;
    this.#sets[this.#count++] = set;
    this.#lastSet = set;
  }

  #mark(block: number): void {
    if (this.#markCount === this.#markBlocks.length) {
      this.#markBlocks = enlarged(this.#markBlocks, 2 * this.#markCount);
      this.#markEntries = enlarged(this.#markEntries, 2 * this.#markCount);
    }
    this.#markBlocks[this.#markCount] = block;
    this.#markEntries[this.#markCount++] = this.#count;
    this.#lastBlock = block;
  }

  /** Makes room for entries, and for indices of sets that become too large for 16 bits. */
  #reserve(count: number): void {
    const needed = this.#count + count;
    if (needed > this.#lows.length) {
      const capacity = Math.max(needed, Math.ceil(this.#lows.length * 1.5));
      this.#lows = enlarged(this.#lows, capacity);
      this.#sets = enlarged(this.#sets, capacity);
    }
    if (this.#reduced.rules.count + count > 0xffff && this.#sets instanceof Uint16Array) {
      this.#sets = Uint32Array.from(this.#sets);
    }
  }
}

/** The table of rows that may overlap. */
export function compactTableOf(rows: CfiRows, reduced: ReducedRules): CompactTable {
  const builder = new CompactTableBuilder(reduced, rows.count + 2 * rows.fdeCount);
  for (const { fde, start, end } of orderFdes(rows)) {
    let row = rows.fdeRows[fde];
    const last = rows.fdeRows[fde + 1];
    while (row + 1 < last && rows.starts[row + 1] <= start) row++;
    builder.beginFde(start, end, last - row);
    for (; row < last && rows.starts[row] < end; row++) {
      builder.addRow(Math.max(rows.starts[row], start), rows.sets[row]);
    }
  }
  // The parts of FDEs do not overlap, so there is a table.
  return builder.build()!;
}

function enlarged<T extends Uint16Array | Uint32Array>(array: T, capacity: number): T {
  const larger = new (array.constructor as new (length: number) => T)(capacity);
  larger.set(array);
  return larger;
}
