import { Column } from "./column.ts";

/** Slots in use, at most; a fuller table has long searches. */
const FULLEST = 0.75;
const GROWTH = 1.5;
const FIRST_SLOTS = 512;

/** Numbers below this leave room in their slots for some bits of their hashes. */
const TAG_SHIFT = 26;
const NUMBER_MASK = 2 ** TAG_SHIFT - 1;

/**
 * The slots of an open hash table of numbers from 1. Growing gives the old slots back before the new ones are there:
 * who uses it keeps the keys elsewhere and adds all of them again. As long as numbers are small, slots hold a few bits
 * of hashes too: most keys that differ are told apart without a look at where they are kept.
 */
export class SlotTable {
  readonly #slots = new Column();
  #size = FIRST_SLOTS;
  #used = 0;
  /** The bits of a slot that are of a hash: none once a number needs them. */
  #tagMask = ~NUMBER_MASK;

  /** Where the search for a 32-bit hash begins. */
  first(hash: number): number {
    return Math.floor(((hash >>> 0) * this.#size) / 2 ** 32);
  }

  next(slot: number): number {
    return slot + 1 === this.#size ? 0 : slot + 1;
  }

  /** What is in a slot; 0 for an empty one. */
  get(slot: number): number {
    return this.#slots.get(slot);
  }

  /** Whether what is in a slot may belong to a hash. */
  mayHave(content: number, hash: number): boolean {
    return ((content ^ (hash << TAG_SHIFT)) & this.#tagMask) === 0;
  }

  /** The number in what is in a slot. */
  numberIn(content: number): number {
    return (content & ~this.#tagMask) >>> 0;
  }

  /** Fills an empty slot. @returns whether the table must be made anew: enlarge it, and add everything again */
  fill(slot: number, value: number, hash: number): boolean {
    if (this.#tagMask !== 0 && value > NUMBER_MASK) {
      this.#tagMask = 0;
      return true;
    }
    this.#slots.set(slot, (value | ((hash << TAG_SHIFT) & this.#tagMask)) >>> 0);
    return ++this.#used > this.#size * FULLEST;
  }

  /** Adds a number that is not in the table. */
  add(hash: number, value: number): void {
    let slot = this.first(hash);
    while (this.#slots.get(slot) !== 0) slot = this.next(slot);
    this.fill(slot, value, hash);
  }

  /** An empty table with more slots. */
  enlarge(): void {
    this.release();
    this.#size = Math.ceil(this.#size * GROWTH);
  }

  release(): void {
    this.#slots.release();
    this.#used = 0;
  }
}
