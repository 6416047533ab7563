import type { CfiRows } from "../cfi/rows.ts";
import { type FdeSpan, orderFdes } from "./fde-order.ts";

/** Code is indexed in blocks of this many bytes, so that a search begins among a few dozen entries. */
const BLOCK_SHIFT = 12;
/** Gaps between functions shorter than this are padding: they keep the rule in front of them. */
const MIN_GAP = 16;

/**
 * Which rule set holds where, in 4 bytes per entry: the low 16 bits of the offset where it begins, and the set's
 * index in a dictionary. An entry holds up to the next one; where no function is, set 0 holds. Entries of a block
 * of 4 KiB of code lie between two numbers of the block index, so the upper bits need not be stored.
 *
 *     blocks   [0, 2, 2, 5, …]                 entry where each block begins
 *     lows     [0x0040, 0x0044, 0x2010, …]
 *     sets     [     1,      2,      1, …]
 */
export class CompactTable {
  readonly #blocks: Uint32Array;
  readonly #lows: Uint16Array;
  readonly #sets: Uint16Array | Uint32Array;

  private constructor(blocks: Uint32Array, lows: Uint16Array, sets: Uint16Array | Uint32Array) {
    this.#blocks = blocks;
    this.#lows = lows;
    this.#sets = sets;
  }

  /**
   * Builds the table of an object's rows.
   *
   * @param setOf dictionary index of each of the rows' rule sets; equal neighbours become one entry
   */
  static build(rows: CfiRows, setOf: Uint16Array | Uint32Array): CompactTable {
    const { order, spans, end } = orderFdes(rows);
    const capacity = rows.count + 2 * rows.fdeCount + 1;
    const lows = new Uint16Array(capacity);
    const isWide = setOf.some((set) => set > 0xffff);
    const sets = isWide ? new Uint32Array(capacity) : new Uint16Array(capacity);
    const blockCount = Math.floor(end / 2 ** BLOCK_SHIFT) + 1;
    const blocks = new Uint32Array(blockCount + 1);
    const writer = new EntryWriter(lows, sets, blocks);
    if (spans === undefined) writer.addFdes(rows, setOf, order);
    else for (const span of spans) writer.addSpan(rows, setOf, span);
    writer.finish();
    return new CompactTable(blocks, shrunk(lows, writer.count), shrunk(sets, writer.count));
  }

  /** Rule set that holds at an offset from the object's base; 0 if none does. */
  find(offset: number): number {
    const block = Math.floor(offset / 2 ** BLOCK_SHIFT);
    const blocks = this.#blocks;
    if (!(block >= 0 && block < blocks.length - 1)) return 0;
    const lows = this.#lows;
    const low16 = offset & 0xffff;
    let low = blocks[block];
    let high = blocks[block + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (lows[middle] <= low16) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : this.#sets[low - 1];
  }

  /** Number of entries, those for gaps included. */
  get count(): number {
    return this.#lows.length;
  }

  /** Bytes of all arrays. */
  get byteLength(): number {
    return this.#blocks.byteLength + this.#lows.byteLength + this.#sets.byteLength;
  }
}

/** Appends entries in ascending order of their offsets. */
class EntryWriter {
  count = 0;
  readonly #lows: Uint16Array;
  readonly #sets: Uint16Array | Uint32Array;
  readonly #blocks: Uint32Array;
  #block = 0;
  #lastSet = 0;
  /** End of the last function written. */
  #end = 0;

  constructor(lows: Uint16Array, sets: Uint16Array | Uint32Array, blocks: Uint32Array) {
    this.#lows = lows;
    this.#sets = sets;
    this.#blocks = blocks;
  }

  #add(offset: number, set: number): void {
    if (set === this.#lastSet) return;
    const blocks = this.#blocks;
    const block = Math.floor(offset / 2 ** BLOCK_SHIFT);
    while (this.#block <= block) blocks[this.#block++] = this.count;
    this.#lows[this.count] = offset & 0xffff;
    this.#sets[this.count++] = set;
    this.#lastSet = set;
  }

  /** All FDEs, where they do not overlap; `order` has their numbers by address if they stand otherwise. */
  addFdes(rows: CfiRows, setOf: Uint16Array | Uint32Array, order: Uint32Array | undefined): void {
    const { fdeStarts, fdeEnds, fdeRows, fdeCount, starts, sets } = rows;
    const outLows = this.#lows;
    const outSets = this.#sets;
    const blocks = this.#blocks;
    let count = 0;
    let lastSet = 0;
    let nextBlock = 0;
    let end = 0;
    for (let i = 0; i < fdeCount; i++) {
      const fde = order === undefined ? i : order[i];
      if (fdeStarts[fde] - end >= MIN_GAP && lastSet !== 0) {
        const block = end >>> BLOCK_SHIFT;
        while (nextBlock <= block) blocks[nextBlock++] = count;
        outLows[count] = end;
        outSets[count++] = 0;
        lastSet = 0;
      }
      end = fdeEnds[fde];
      for (let row = fdeRows[fde], last = fdeRows[fde + 1]; row < last; row++) {
        const set = setOf[sets[row]];
        if (set === lastSet) continue;
        lastSet = set;
        const start = starts[row];
        const block = start >>> BLOCK_SHIFT;
        while (nextBlock <= block) blocks[nextBlock++] = count;
        outLows[count] = start;
        outSets[count++] = set;
      }
    }
    this.count = count;
    this.#block = nextBlock;
    this.#lastSet = lastSet;
    this.#end = end;
  }

  /** A part of an FDE, behind everything that was added before. */
  addSpan(rows: CfiRows, setOf: Uint16Array | Uint32Array, { fde, start, end }: FdeSpan): void {
    if (start - this.#end >= MIN_GAP) this.#add(this.#end, 0);
    const { starts, sets } = rows;
    const last = rows.fdeRows[fde + 1];
    let row = rows.fdeRows[fde];
    while (row + 1 < last && starts[row + 1] <= start) row++;
    for (; row < last && starts[row] < end; row++) this.#add(Math.max(starts[row], start), setOf[sets[row]]);
    this.#end = end;
  }

  finish(): void {
    this.#add(this.#end, 0);
    const blocks = this.#blocks;
    while (this.#block < blocks.length) blocks[this.#block++] = this.count;
  }
}

/** A copy of the first `length` elements. */
function shrunk<T extends Uint16Array | Uint32Array>(array: T, length: number): T {
  return array.slice(0, length) as T;
}
