import { Column } from "./column.ts";
import { SlotTable } from "./slot-table.ts";

/** Numbers from 0 for keys that are small integers, in the order of their first use. */
export class RowIndex {
  private readonly keys = new Column();
  private readonly slots = new SlotTable();
  private count = 0;

  get length(): number {
    return this.count;
  }

  keyOf(row: number): number {
    return this.keys.get(row);
  }

  /** The row of a key; `length` grows by one if it is new. */
  rowOf(key: number): number {
    const slot = this.slotOf(key);
    const found = this.slots.get(slot);
    if (found !== 0) return found - 1;
    this.keys.set(this.count++, key);
    if (this.slots.fill(slot, this.count)) {
      this.slots.enlarge();
      for (let row = 0; row < this.count; row++) this.slots.add(hashOf(this.keys.get(row)), row + 1);
    }
    return this.count - 1;
  }

  /** Gives the table back that rows are found with: only `keyOf` works from now on. */
  seal(): void {
    this.slots.release();
  }

  private slotOf(key: number): number {
    let slot = this.slots.first(hashOf(key));
    for (;;) {
      const row = this.slots.get(slot);
      if (row === 0 || this.keys.get(row - 1) === key) return slot;
      slot = this.slots.next(slot);
    }
  }
}

function hashOf(key: number): number {
  const hash = Math.imul(key ^ (key >>> 15), 0x9e3779b1);
  return hash ^ (hash >>> 16);
}
