import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { FastFdes } from "../cfi/fast-fdes.ts";
import { type CfiCounts, type CfiDictionary, CfiReader, type ObjectCfi } from "../cfi/reader.ts";
import { type CfiRows, type FdeRows, type FdeSink, LAST_OFFSET, OFFSET_BIAS } from "../cfi/rows.ts";
import type { RuleSets } from "../cfi/rule-sets.ts";
import type { UnwindWasm } from "../wasm-module.ts";
import type { ReducedRules } from "./reduce.ts";

/** Maximum length of an extent; longer rows are cut into pieces. */
export const MAX_EXTENT_BYTES = 0xffff;

/**
 * Map from code to rule sets in the form of Mozilla's LUL: sorted extents of 8 bytes each. An extent has an offset
 * from the object's base (u32), a length (u16) and the index of a rule set (u16, here u32 with more than 65,536
 * sets). Every row is an extent of its own, even if its neighbour is equal. Code without an extent has no rule.
 *
 * Extents are added in any order; `prepare` sorts them and cuts those that reach into the next one.
 */
export class ExtentTable {
  count = 0;
  #offsets: Uint32Array;
  #lengths: Uint16Array;
  #sets: Uint16Array | Uint32Array;
  #prepared = false;

  constructor(capacity: number, setCount: number) {
    this.#offsets = new Uint32Array(capacity);
    this.#lengths = new Uint16Array(capacity);
    this.#sets = setCount > 0x1_0000 ? new Uint32Array(capacity) : new Uint16Array(capacity);
  }

  static ofRows(rows: CfiRows, reduced: ReducedRules): ExtentTable {
    for (let row = 0; row < rows.count; row++) reduced.indexOf(rows.sets[row]);
    const table = new ExtentTable(rows.count + 64, reduced.rules.count);
    for (let fde = 0; fde < rows.fdeCount; fde++) {
      const last = rows.fdeRows[fde + 1] - 1;
      for (let row = rows.fdeRows[fde]; row <= last; row++) {
        const end = row < last ? rows.starts[row + 1] : rows.fdeEnds[fde];
        table.add(rows.starts[row], end - rows.starts[row], reduced.indexOf(rows.sets[row]));
      }
    }
    table.prepare();
    return table;
  }

  get byteLength(): number {
    return this.count * (4 + 2 + this.#sets.BYTES_PER_ELEMENT);
  }

  /** Adds the code `[offset, offset + length)`, in pieces if it is long. */
  add(offset: number, length: number, set: number): void {
    this.#prepared = false;
    for (let done = 0; done < length; done += MAX_EXTENT_BYTES) {
      if (this.count === this.#offsets.length) this.#grow();
      this.#offsets[this.count] = offset + done;
      this.#lengths[this.count] = Math.min(length - done, MAX_EXTENT_BYTES);
      this.#sets[this.count++] = set;
    }
  }

  /**
   * Sorts the extents and cuts those that reach into the next one, so that of overlapping ones the later start
   * counts. Of extents with equal starts, the one added first stays.
   */
  prepare(): void {
    if (!this.#isSorted()) this.#sort();
    const offsets = this.#offsets;
    const lengths = this.#lengths;
    const sets = this.#sets;
    let filled = 0;
    for (let i = 0; i < this.count; i++) {
      const room = i + 1 < this.count ? offsets[i + 1] - offsets[i] : MAX_EXTENT_BYTES;
      if (room === 0 || lengths[i] === 0) continue;
      offsets[filled] = offsets[i];
      lengths[filled] = Math.min(lengths[i], room);
      sets[filled++] = sets[i];
    }
    this.count = filled;
    this.#prepared = true;
  }

  /** Returns the rule set for an offset from the object's base; 0 if there is none. */
  find(offset: number): number {
    if (!this.#prepared) this.prepare();
    const offsets = this.#offsets;
    const last = partitionPoint(0, this.count, (index) => offsets[index] <= offset) - 1;
    return last >= 0 && offset - offsets[last] < this.#lengths[last] ? this.#sets[last] : 0;
  }

  #isSorted(): boolean {
    for (let i = 1; i < this.count; i++) if (this.#offsets[i - 1] >= this.#offsets[i]) return false;
    return true;
  }

  /** Sorts by offset. Of equal offsets, the extent added first comes last, as the last one stays. */
  #sort(): void {
    const { count } = this;
    const offsets = this.#offsets;
    // A key combines offset and position in one exact number, since numbers sort without calls.
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i++) keys[i] = offsets[i] * 2 ** 21 + (2 ** 21 - 1 - (i % 2 ** 21));
    const order = count <= 2 ** 21 ? orderOfKeys(keys) : orderOf(offsets.subarray(0, count));
    this.#offsets = permuted(offsets, order);
    this.#lengths = permuted(this.#lengths, order);
    this.#sets = permuted(this.#sets, order);
  }

  #grow(): void {
    const capacity = Math.ceil(this.count * 1.5) + 64;
    const larger = <T extends Uint16Array | Uint32Array>(array: T): T => {
      const copy = new (array.constructor as new (length: number) => T)(capacity);
      copy.set(array);
      return copy;
    };
    this.#offsets = larger(this.#offsets);
    this.#lengths = larger(this.#lengths);
    this.#sets = larger(this.#sets);
  }
}

function orderOfKeys(keys: Float64Array): Uint32Array {
  keys.sort();
  return Uint32Array.from(keys, (key) => 2 ** 21 - 1 - (key % 2 ** 21));
}

function orderOf(offsets: Uint32Array): Uint32Array {
  const order = Uint32Array.from(offsets, (_, i) => i);
  return order.sort((a, b) => offsets[a] - offsets[b] || b - a);
}

function permuted<T extends Uint16Array | Uint32Array>(array: T, order: Uint32Array): T {
  const result = new (array.constructor as new (length: number) => T)(order.length);
  for (let i = 0; i < order.length; i++) result[i] = array[order[i]];
  return result;
}

/** Block size of the code index. A search starts among a few dozen entries. */
const BLOCK_BYTES = 4096;
const BLOCK_BITS = 12;
/** Number of rule sets that entries can refer to: enough for all of an object, unless it is damaged. */
const MOST_SETS = 2 ** (32 - BLOCK_BITS);

interface CompactArrays {
  readonly firsts: Uint32Array;
  readonly counts: Uint16Array;
  /** Rule set at the start of each block, up to its first entry. */
  readonly before: Uint32Array;
  /** Low 12 bits of the offset where each entry begins; above them the rule set from there on. */
  readonly entries: Uint32Array;
  readonly count: number;
}

/**
 * Map from code to rule sets, with 4 bytes per entry: the low bits of the offset where the entry begins, and the
 * set's index in a dictionary. An entry holds up to the next one; outside of functions, set 0 holds. The entries of
 * a 4 KiB block of code are consecutive and ascending; the blocks are in any order.
 *
 *     firsts   [0, 2, 2, …]
 *     counts   [2, 0, 3, …]
 *     before   [0, 2, 2, …]
 *     entries  [1 << 12 | 0x040, 2 << 12 | 0x044, 1 << 12 | 0x010, …]
 */
export class CompactTable {
  /** Read-only. */
  readonly arrays: CompactArrays;

  constructor(arrays: CompactArrays) {
    this.arrays = arrays;
  }

  /** Returns the rule set for an offset from the object's base; 0 if there is none. */
  find(offset: number): number {
    const { firsts, counts, before, entries } = this.arrays;
    const block = Math.floor(offset / BLOCK_BYTES);
    if (!(block >= 0 && block < firsts.length)) return 0;
    const inBlock = offset & (BLOCK_BYTES - 1);
    const first = firsts[block];
    let low = first;
    let high = first + counts[block];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((entries[middle] & (BLOCK_BYTES - 1)) <= inBlock) low = middle + 1;
      else high = middle;
    }
    return low === first ? before[block] : entries[low - 1] >>> BLOCK_BITS;
  }

  get count(): number {
    return this.arrays.count;
  }

  get byteLength(): number {
    const { firsts, counts, before, entries, count } = this.arrays;
    return firsts.byteLength + counts.byteLength + before.byteLength + count * entries.BYTES_PER_ELEMENT;
  }
}

/** Largest share of entries that may stay unused after blocks were joined; beyond it, all entries are copied. */
const MOST_LEFTOVERS = 1 / 64;

/** Bytes of call frame information per row and per FDE in large libraries, or a little less. */
const BYTES_PER_ROW = 5;
const BYTES_PER_FDE = 40;

function blockOf(offset: number): number {
  return (offset >> BLOCK_BITS) + OFFSET_BIAS / BLOCK_BYTES;
}

interface Segment {
  start: number;
  end: number;
  firstEntry: number;
  lastEntry: number;
}

/**
 * Builds a table while FDEs are read. Linkers keep nearly all FDEs in the order of the code, so entries are written
 * as they come. A new segment begins where the order breaks (`assembly/table.ts`). At the end an index of blocks
 * puts the segments in order. Offsets are those of the code from the base of the object minus `OFFSET_BIAS`.
 */
class CompactTableBuilder implements FdeSink {
  readonly fast: FastFdes;

  /**
   * @param sectionBytes size of all sections, for the initial capacity
   * @param shortestGap bytes from which on a gap between functions has no rule; in a shorter gap the rule before it
   * holds
   */
  constructor(rules: RuleSets, reduced: ReducedRules, sectionBytes: number, shortestGap: number) {
    this.fast = new FastFdes(rules, (set) => {
      const reducedSet = reduced.indexOf(set >>> 0);
      return reducedSet < MOST_SETS ? reducedSet : 0;
    });
    const rows = Math.ceil(sectionBytes / BYTES_PER_ROW);
    this.fast.wasm.beginTable(rows, Math.ceil(sectionBytes / BYTES_PER_FDE), shortestGap);
  }

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

  /**
   * Segments by address, cut where another one is in a gap between their functions; undefined if functions overlap.
   */
  #partsInOrder(): Segment[] | undefined {
    const waiting = this.#segments.toSorted((a, b) => b.start - a.start);
    /** Rests of segments after a cut, the one with the lowest start last. */
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
        // The segments overlap outside of a gap: a function reaches into the next segment.
        if (cut === part.firstEntry || this.#entries[cut - 1] >>> BLOCK_BITS !== 0) return undefined;
        rests.push({ ...part, start: this.#startOf(cut), firstEntry: cut });
        part = { ...part, end: next, lastEntry: cut };
      }
      parts.push(part);
      end = part.end;
    }
    return parts;
  }

  #entryBehind({ firstEntry, lastEntry }: Segment, offset: number): number {
    return partitionPoint(firstEntry, lastEntry, (entry) => this.#startOf(entry) <= offset);
  }

  #startOf(entry: number): number {
    const block = this.#marks[2 * this.#wasm.markOf(entry)];
    return block * BLOCK_BYTES + (this.#entries[entry] & (BLOCK_BYTES - 1));
  }
}

/** Copies the table so that its blocks are in order, without unused entries. */
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

/** Longest gap between functions that counts as alignment, in which no pc is expected. */
export const LONGEST_PADDING = 16;

/** Reads all FDEs of an object directly into a table, in which gaps of `shortestGap` bytes and more have no rule. */
export function readTable(
  cfi: ObjectCfi,
  dictionary: CfiDictionary,
  reduced: ReducedRules,
  shortestGap: number,
): { table: CompactTable; counts: CfiCounts; rowCount: number } {
  const builder = new CompactTableBuilder(dictionary.rules, reduced, cfiBytes(cfi), shortestGap);
  const counts = readFdes(cfi, dictionary, builder);
  return { table: builder.build(), counts, rowCount: builder.rowCount };
}

export function cfiBytes({ sections }: ObjectCfi): number {
  return sections.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

export function readFdes(cfi: ObjectCfi, dictionary: CfiDictionary, sink: FdeSink): CfiCounts {
  const counts: CfiCounts = { cies: 0, fdes: 0, emptyFdes: 0, outsideFdes: 0 };
  for (const section of cfi.sections) {
    const reader = new CfiReader(section, dictionary, cfi, sink);
    reader.readAll();
    for (const name of Object.keys(counts) as (keyof CfiCounts)[]) counts[name] += reader.counts[name];
  }
  return counts;
}
