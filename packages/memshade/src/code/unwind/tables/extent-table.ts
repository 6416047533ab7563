import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { CfiRows } from "../cfi/rows.ts";
import type { ReducedRules } from "./reduce.ts";

/** Length of an extent at most; longer rows are cut into pieces. */
export const MAX_EXTENT_BYTES = 0xffff;

/**
 * Which rule set holds where, in the form of Mozilla's LUL: sorted extents of 8 bytes each, an offset from the object's
 * base (u32), a length (u16) and the index of a rule set in the dictionary (u16, in this table u32 where there are
 * more than 65,536 sets). Every row is an extent of its own, equal neighbours too; what no extent covers has no rule.
 *
 * Extents are added in any order; `prepare` sorts them and cuts those that reach into the next one.
 */
export class ExtentTable {
  count = 0;
  #offsets: Uint32Array;
  #lengths: Uint16Array;
  #sets: Uint16Array | Uint32Array;
  #prepared = false;

  /** @param capacity number of extents that room is made for */
  constructor(capacity: number, setCount: number) {
    this.#offsets = new Uint32Array(capacity);
    this.#lengths = new Uint16Array(capacity);
    this.#sets = setCount > 0x1_0000 ? new Uint32Array(capacity) : new Uint16Array(capacity);
  }

  /** The table of an object's rows. */
  static ofRows(rows: CfiRows, reduced: ReducedRules): ExtentTable {
    for (let row = 0; row < rows.count; row++) reduced.of(rows.sets[row]);
    const table = new ExtentTable(rows.count + 64, reduced.rules.count);
    for (let fde = 0; fde < rows.fdeCount; fde++) {
      const last = rows.fdeRows[fde + 1] - 1;
      for (let row = rows.fdeRows[fde]; row <= last; row++) {
        const end = row < last ? rows.starts[row + 1] : rows.fdeEnds[fde];
        table.add(rows.starts[row], end - rows.starts[row], reduced.of(rows.sets[row]));
      }
    }
    table.prepare();
    return table;
  }

  /** Bytes that the extents take. */
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
   * Sorts the extents and cuts those that reach into the next one, so that of overlapping ones the later start counts.
   * Of extents with equal starts the one that was added first stays.
   */
  prepare(): void {
    if (!this.#isSorted()) this.#sort();
    const offsets = this.#offsets;
    const lengths = this.#lengths;
    const sets = this.#sets;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const room = i + 1 < this.count ? offsets[i + 1] - offsets[i] : MAX_EXTENT_BYTES;
      if (room === 0 || lengths[i] === 0) continue;
      offsets[kept] = offsets[i];
      lengths[kept] = Math.min(lengths[i], room);
      sets[kept++] = sets[i];
    }
    this.count = kept;
    this.#prepared = true;
  }

  /** Rule set that holds at an offset from the object's base; 0 if none does. */
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

  /** By offset; of equal ones the one that was added first comes last, as the last of them stays. */
  #sort(): void {
    const { count } = this;
    const offsets = this.#offsets;
    // Offset and position in one exact number: sorting plain numbers needs no calls.
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
