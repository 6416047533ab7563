import { type CfiRows, type FdeSink, LAST_OFFSET, OFFSET_BIAS, type ProgramRows } from "../cfi/rows.ts";
import { BLOCK_BITS, BLOCK_BYTES, type CompactArrays, CompactTable } from "./compact-table.ts";
import { orderFdes } from "./fde-order.ts";
import type { ReducedRules } from "./reduce.ts";

/** Gaps between functions shorter than this are padding: they keep the rule in front of them. */
const MIN_GAP = 16;

/** Entries that may be left behind unused where blocks were joined, as a share; beyond that all are copied. */
const MOST_LEFTOVERS = 1 / 64;

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
 * they come, a new segment begins where the order breaks, and in the end an index of blocks puts the segments in order.
 * Offsets are those of the code from the base of the object minus `OFFSET_BIAS`.
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
  #markBlocks: Uint32Array;
  #markEntries: Uint32Array;
  #lastBlock = -1;
  #lastSet = 0;
  /** End of the last FDE. */
  #end = -OFFSET_BIAS;
  /** Highest end of any. */
  #highest = -OFFSET_BIAS;

  /** @param capacity number of entries that room is made for */
  constructor(reduced: ReducedRules, capacity: number) {
    this.#reduced = reduced;
    this.#lows = new Uint16Array(capacity + 16);
    this.#sets = new Uint16Array(capacity + 16);
    // Blocks of compiled code have several dozen entries.
    const marks = 64 + (capacity >> 5);
    this.#markBlocks = new Uint32Array(marks);
    this.#markEntries = new Uint32Array(marks);
  }

  addFde(start: number, size: number, { count: rowCount, deltas, sets: fullSets }: ProgramRows): void {
    const end = Math.min(start + size, LAST_OFFSET);
    this.beginFde(start, end, rowCount);
    const codeBytes = end - start;
    const reduced = this.#reduced;
    const { known } = reduced;
    const lows = this.#lows;
    const sets = this.#sets;
    let count = this.#count;
    let lastSet = this.#lastSet;
    let row = 0;
    // Apart from running the instructions, nearly all of the time that a table takes is spent in this loop.
    for (; row < rowCount && deltas[row] < codeBytes; row++) {
      const fullSet = fullSets[row];
      let set = fullSet < known.length ? known[fullSet] : -1;
      if (set < 0) set = reduced.of(fullSet);
      if (set === lastSet) continue;
      const offset = start + deltas[row];
      const block = blockOf(offset);
      if (block !== this.#lastBlock) this.#mark(block, count);
      lows[count] = offset & (BLOCK_BYTES - 1);
      sets[count++] = set;
      lastSet = set;
    }
    this.rowCount += row;
    this.#count = count;
    this.#lastSet = lastSet;
  }

  /** Begins the next FDE, or part of one. */
  beginFde(start: number, end: number, rowCount: number): void {
    if (this.#count + rowCount + 2 > this.#lows.length || this.#reduced.rules.count + rowCount > 0xffff) {
      this.#reserve(rowCount + 2);
    }
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
    const blockCount = blockOf(parts.at(-1)?.end ?? -OFFSET_BIAS) + 1;
    const index = new BlockIndex(blockCount, this.#sets instanceof Uint32Array);
    const entries = this.#count;
    for (const part of parts) this.#indexPart(part, index);
    index.skipTo(blockCount);
    const { firsts, counts, before } = index;
    const arrays = { firsts, counts, before, lows: this.#lows, sets: this.#sets, count: this.#count };
    return new CompactTable(this.#count - entries > entries * MOST_LEFTOVERS ? packed(arrays) : arrays);
  }

  /** Adds the blocks of a run of entries to the index. */
  #indexPart({ firstEntry, lastEntry }: Segment, index: BlockIndex): void {
    if (firstEntry === lastEntry) return;
    for (let mark = this.#markOf(firstEntry); mark < this.#markCount; mark++) {
      const first = Math.max(firstEntry, this.#markEntries[mark]);
      if (first >= lastEntry) break;
      const last = mark + 1 < this.#markCount ? Math.min(lastEntry, this.#markEntries[mark + 1]) : lastEntry;
      const block = this.#markBlocks[mark];
      if (block >= index.next) index.add(block, first, last - first);
      else this.#joinBlock(block, first, last, index);
      index.lastSet = this.#sets[last - 1];
    }
  }

  /** Two runs meet inside of a block: their entries are put together at the end. */
  #joinBlock(block: number, first: number, last: number, { firsts, counts }: BlockIndex): void {
    const known = counts[block];
    const added = last - first;
    this.#reserve(known + added);
    if (firsts[block] + known !== this.#count) {
      this.#copyEntries(firsts[block], known);
      firsts[block] = this.#count - known;
    }
    this.#copyEntries(first, added);
    counts[block] = known + added;
  }

  #copyEntries(first: number, count: number): void {
    this.#lows.copyWithin(this.#count, first, first + count);
    this.#sets.copyWithin(this.#count, first, first + count);
    this.#count += count;
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
    return this.#markBlocks[this.#markOf(entry)] * BLOCK_BYTES - OFFSET_BIAS + this.#lows[entry];
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
    const block = blockOf(offset);
    if (block !== this.#lastBlock) this.#mark(block, this.#count);
    this.#lows[this.#count] = offset & (BLOCK_BYTES - 1);
    this.#sets[this.#count++] = set;
    this.#lastSet = set;
  }

  /** Entries from this one on begin in a block. */
  #mark(block: number, entry: number): void {
    if (this.#markCount === this.#markBlocks.length) {
      this.#markBlocks = enlarged(this.#markBlocks, 2 * this.#markCount);
      this.#markEntries = enlarged(this.#markEntries, 2 * this.#markCount);
    }
    this.#markBlocks[this.#markCount] = block;
    this.#markEntries[this.#markCount++] = entry;
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

/** The same table with its blocks one behind the other. */
function packed({ firsts, counts, before, lows, sets }: CompactArrays): CompactArrays {
  let total = 0;
  for (const entries of counts) total += entries;
  const packedLows = new Uint16Array(total);
  const packedSets = sets instanceof Uint32Array ? new Uint32Array(total) : new Uint16Array(total);
  let count = 0;
  for (let block = 0; block < counts.length; block++) {
    const first = firsts[block];
    const last = first + counts[block];
    firsts[block] = count;
    for (let entry = first; entry < last; entry++) {
      packedLows[count] = lows[entry];
      packedSets[count++] = sets[entry];
    }
  }
  return { firsts, counts, before, lows: packedLows, sets: packedSets, count };
}

/** The index of a table while it is filled, block by block. */
class BlockIndex {
  readonly firsts: Uint32Array;
  readonly counts: Uint16Array;
  readonly before: Uint16Array | Uint32Array;
  /** First block that is not filled yet. */
  next = 0;
  /** What holds at the end of the last entry that was indexed. */
  lastSet = 0;

  constructor(blockCount: number, isWide: boolean) {
    this.firsts = new Uint32Array(blockCount);
    this.counts = new Uint16Array(blockCount);
    this.before = isWide ? new Uint32Array(blockCount) : new Uint16Array(blockCount);
  }

  add(block: number, first: number, count: number): void {
    this.skipTo(block + 1);
    this.firsts[block] = first;
    this.counts[block] = count;
  }

  /** Blocks without entries. */
  skipTo(block: number): void {
    for (; this.next < block; this.next++) this.before[this.next] = this.lastSet;
  }
}

/** The table of rows that may overlap. */
export function compactTableOf(rows: CfiRows, reduced: ReducedRules): CompactTable {
  const builder = new CompactTableBuilder(reduced, rows.count + 2 * rows.fdeCount);
  for (const { fde, start, end } of orderFdes(rows)) {
    let row = rows.fdeRows[fde];
    const last = rows.fdeRows[fde + 1];
    while (row + 1 < last && rows.starts[row + 1] <= start) row++;
    builder.beginFde(start - OFFSET_BIAS, end - OFFSET_BIAS, last - row);
    for (; row < last && rows.starts[row] < end; row++) {
      builder.addRow(Math.max(rows.starts[row], start) - OFFSET_BIAS, rows.sets[row]);
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
