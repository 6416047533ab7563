import { type Mib, mergeMib } from "../../mib.ts";
import { MIB_FIELDS } from "../../mib-fields.ts";
import { mibFromPacked, packMib } from "./block-merge.ts";

const MIB_BYTES = MIB_FIELDS.reduce((sum, { bytes }) => sum + bytes, 0);
const PAGE_BITS = 10;
const PAGE_ROWS = 1 << PAGE_BITS;
const NONE = -1;

/** MIBs of one process by row, each merged in order. As objects they would take five times the memory. */
export class PackedMibs {
  readonly #slots = new Map<number, number>();
  readonly #pages: DataView[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#slots.size === 0;
  }

  has(row: number): boolean {
    return this.#slots.has(row);
  }

  expect(row: number): void {
    this.#slots.set(row, NONE);
  }

  /** Merges a packed MIB of a raw file into a row; `present` is its size there. */
  merge(row: number, view: DataView, at: number, present: number): void {
    const later = mibFromPacked(view, at, present);
    const oldSlot = this.#slots.get(row) ?? NONE;
    if (oldSlot !== NONE) {
      this.#put(oldSlot, mergeMib(mibFromPacked(this.#pageOf(oldSlot), offsetOf(oldSlot), MIB_BYTES), later));
      return;
    }
    const slot = this.#count++;
    if (slot >> PAGE_BITS === this.#pages.length)
      this.#pages.push(new DataView(new ArrayBuffer(PAGE_ROWS * MIB_BYTES)));
    this.#slots.set(row, slot);
    this.#put(slot, later);
  }

  /** Calls `see` for each filled row with a view of the merged MIB, which has all bytes. */
  forEach(see: (row: number, view: DataView, at: number, present: number) => void): void {
    for (const [row, slot] of this.#slots)
      if (slot !== NONE) see(row, this.#pageOf(slot), offsetOf(slot), MIB_BYTES);
  }

  #put(slot: number, mib: Mib): void {
    const page = this.#pageOf(slot);
    packMib(mib, new DataView(page.buffer, offsetOf(slot), MIB_BYTES));
  }

  #pageOf(slot: number): DataView {
    return this.#pages[slot >> PAGE_BITS]!;
  }
}

function offsetOf(slot: number): number {
  return (slot & (PAGE_ROWS - 1)) * MIB_BYTES;
}
