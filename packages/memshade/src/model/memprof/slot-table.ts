import { Column } from "./column.ts";

/** Slots in use, at most; a fuller table has long searches. */
const FULLEST = 0.75;
const GROWTH = 1.5;
const FIRST_SLOTS = 512;

/**
 * The slots of an open hash table of numbers from 1. Growing gives the old slots back before the new ones are there:
 * who uses it keeps the keys elsewhere and adds all of them again.
 */
export class SlotTable {
  private readonly slots = new Column();
  private size = FIRST_SLOTS;
  private used = 0;

  /** Where the search for a 32-bit hash begins. */
  first(hash: number): number {
    return Math.floor(((hash >>> 0) * this.size) / 2 ** 32);
  }

  next(slot: number): number {
    return slot + 1 === this.size ? 0 : slot + 1;
  }

  /** What is in a slot; 0 for an empty one. */
  get(slot: number): number {
    return this.slots.get(slot);
  }

  /** Fills an empty slot. @returns whether the table is too full now: empty it, and add everything again */
  fill(slot: number, value: number): boolean {
    this.slots.set(slot, value);
    return ++this.used > this.size * FULLEST;
  }

  /** Adds a number that is not in the table. */
  add(hash: number, value: number): void {
    let slot = this.first(hash);
    while (this.slots.get(slot) !== 0) slot = this.next(slot);
    this.fill(slot, value);
  }

  /** An empty table with more slots. */
  enlarge(): void {
    this.release();
    this.size = Math.ceil(this.size * GROWTH);
  }

  release(): void {
    this.slots.release();
    this.used = 0;
  }
}
