import { Column } from "../column.ts";
import { SlotTable } from "../slot-table.ts";

/** Numbers from 0 for keys that are small integers, in the order of their first use. */
export class RowIndex {
  readonly #keys = new Column();
  readonly #slots = new SlotTable();
  #count = 0;

  get length(): number {
    return this.#count;
  }

  keyOf(row: number): number {
    return this.#keys.get(row);
  }

  /** The row of a key; `length` grows by one if it is new. */
  rowOf(key: number): number {
    const slots = this.#slots;
    const keys = this.#keys;
    const hash = hashOf(key);
    let slot = slots.first(hash);
    for (let found = slots.get(slot); found !== 0; found = slots.get(slot)) {
      if (slots.mayHave(found, hash) && keys.get(slots.numberIn(found) - 1) === key)
        return slots.numberIn(found) - 1;
      slot = slots.next(slot);
    }
    keys.set(this.#count++, key);
    if (slots.fill(slot, this.#count, hash)) {
      slots.enlarge();
      for (let row = 0; row < this.#count; row++) slots.add(hashOf(keys.get(row)), row + 1);
    }
    return this.#count - 1;
  }

  /** Gives everything back. */
  release(): void {
    this.#slots.release();
    this.#keys.release();
    this.#count = 0;
  }

  /** Gives the table back that rows are found with: only `keyOf` works from now on. */
  seal(): void {
    this.#slots.release();
  }
}

function hashOf(key: number): number {
  const hash = Math.imul(key ^ (key >>> 15), 0x9e3779b1);
  return hash ^ (hash >>> 16);
}
