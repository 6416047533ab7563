const EMPTY = 0;
const FULLEST = 0.7;

/** Numbers from 0 for keys that are small integers, in the order of their first use: an open hash table. */
export class RowIndex {
  private keys = new Uint32Array(256);
  private slots = new Uint32Array(512);
  private count = 0;

  get length(): number {
    return this.count;
  }

  keyOf(row: number): number {
    return this.keys[row]!;
  }

  /** The row of a key; `length` grows by one if it is new. */
  rowOf(key: number): number {
    const slot = this.slotOf(this.slots, key);
    const found = this.slots[slot]!;
    if (found !== EMPTY) return found - 1;
    if (this.count === this.keys.length) {
      const larger = new Uint32Array(Math.ceil(this.count * 1.5));
      larger.set(this.keys);
      this.keys = larger;
    }
    this.keys[this.count] = key;
    this.slots[slot] = ++this.count;
    if (this.count > this.slots.length * FULLEST) this.enlarge();
    return this.count - 1;
  }

  /** The row of a key, or -1. */
  find(key: number): number {
    return this.slots[this.slotOf(this.slots, key)]! - 1;
  }

  /** Gives the table back that rows are found with: only `keyOf` works from now on. */
  seal(): void {
    this.slots = new Uint32Array(0);
  }

  private slotOf(slots: Uint32Array, key: number): number {
    const mask = slots.length - 1;
    let slot = Math.imul(key ^ (key >>> 15), 0x9e3779b1) >>> 7;
    for (slot &= mask; slots[slot] !== EMPTY && this.keys[slots[slot]! - 1] !== key; )
      slot = (slot + 1) & mask;
    return slot;
  }

  private enlarge(): void {
    const slots = new Uint32Array(this.slots.length * 2);
    for (let row = 0; row < this.count; row++) slots[this.slotOf(slots, this.keys[row]!)] = row + 1;
    this.slots = slots;
  }
}
