import { IntList, sortByKey } from "../../../../ground/bytes/columns.ts";
import type { NativeBlocks, ShadowLayout } from "../../options.ts";
import {
  CONTEXT_BYTES,
  RECORD_BYTES,
  REGION_BITS,
  Record,
  SLOT_BITS,
  SLOT_BYTES,
  Slot,
  Tag,
} from "../layout.ts";
import type { BlockRanges } from "./reach/block-list.ts";

/** Bits of an address in its slot that a tag has. */
const PLACE_BITS = 4;
const PART_BYTES = 8;
const WORD_BITS = 2;
const HALF = 2 ** 32;

interface Region {
  start: number;
  /** Address of the entry with the address of its slots. */
  entry: number;
}

/**
 * Live blocks by address, as positions of their slots and records in the tables: 8 bytes a block. The tables
 * must not change meanwhile.
 */
export class LiveTable implements BlockRanges {
  readonly length: number;
  readonly #words: Uint32Array;
  readonly #layout: ShadowLayout;
  /** Low halves of the starts. */
  readonly #lows: Uint32Array;
  /** Index of a slot's first word, or the complement of that of a record. */
  readonly #entries: Int32Array;
  /** Runs of blocks whose starts have the same high half: index of the first block, and value of that half. */
  readonly #runFirsts: number[] = [];
  readonly #runHighs: number[] = [];
  /** The run of the last look-up: blocks with indices below `end`. */
  #first = 0;
  #end = 0;
  #high = 0;

  constructor(buffer: ArrayBufferLike, layout: ShadowLayout) {
    this.#words = new Uint32Array(buffer);
    this.#layout = layout;
    let inSlots = 0;
    const found = new IntList();
    this.#forEachSlot((slot, tag) => {
      if (tag < Tag.recorded) inSlots++;
      else this.#takeChain(slot, found);
    });
    if (layout.native !== undefined) this.#takeBuckets(layout.native, found);
    const records = found.toArray();
    const lows = records.map((record) => this.#words[record + Record.address / 4]!);
    let order = sortByKey(records, (i) => lows[i]!);
    if (layout.native !== undefined) {
      const sorted = order;
      order = sortByKey(sorted, (i) => this.#words[sorted[i]! + Record.addressHigh / 4]!);
    }
    this.length = inSlots + order.length;
    this.#lows = new Uint32Array(this.length);
    this.#entries = new Int32Array(this.length);
    this.#merge(order);
  }

  startOf(block: number): number {
    if (block < this.#first || block >= this.#end) this.#findRun(block);
    return this.#high + this.#lows[block];
  }

  sizeOf(block: number): number {
    const entry = this.#entries[block];
    if (entry < 0) return this.#words[~entry + Record.size / 4];
    return (this.#words[entry + Slot.tag / 4] >>> Tag.sizeShift) & Tag.sizeMask;
  }

  contextOf(block: number): number {
    const entry = this.#entries[block];
    if (entry >= 0) return this.#words[entry + Slot.tag / 4] >>> Tag.contextShift;
    return (this.#words[~entry + Record.mib / 4] - this.#layout.mibs) / CONTEXT_BYTES;
  }

  timeOf(block: number): number {
    const entry = this.#entries[block];
    return this.#words[entry < 0 ? ~entry + Record.time / 4 : entry + Slot.time / 4];
  }

  /** Returns the index among the blocks that are followed to their last access; 0 if it is not followed. */
  followedOf(block: number): number {
    const entry = this.#entries[block];
    return entry < 0 ? this.#words[~entry + Record.followed / 4] : 0;
  }

  /** Returns the accesses of a followed block that its counters had no room for. */
  foldedOf(block: number): number {
    const entry = this.#entries[block];
    if (entry >= 0) return 0;
    const at = ~entry + Record.folded / 4;
    return this.#words[at] + this.#words[at + 1] * HALF;
  }

  #findRun(block: number): void {
    let run = this.#runFirsts.length - 1;
    while (this.#runFirsts[run]! > block) run--;
    this.#first = this.#runFirsts[run]!;
    this.#end = this.#runFirsts[run + 1] ?? this.length;
    this.#high = this.#runHighs[run]! * HALF;
  }

  /** Merges blocks in slots, which are in the order of addresses, with those in records. */
  #merge(records: Int32Array): void {
    let at = 0;
    let next = 0;
    const add = (address: number, entry: number): void => {
      const high = Math.floor(address / HALF);
      if (high !== this.#runHighs.at(-1)) {
        this.#runFirsts.push(at);
        this.#runHighs.push(high);
      }
      this.#lows[at] = address;
      this.#entries[at++] = entry;
    };
    const takeRecords = (end: number): void => {
      while (next < records.length) {
        const address = this.#addressOf(records[next]!);
        if (address >= end) return;
        add(address, ~records[next++]!);
      }
    };
    this.#forEachSlot((slot, tag, start) => {
      if (tag >= Tag.recorded) return;
      takeRecords(start);
      add(start, slot);
    });
    takeRecords(Number.POSITIVE_INFINITY);
  }

  /** Calls `visit` for each used slot. `start`: start of the block, if the slot holds one. */
  #forEachSlot(visit: (slot: number, tag: number, start: number) => void): void {
    const { native } = this.#layout;
    const { regionBits, slotBits } = native ?? { regionBits: REGION_BITS, slotBits: SLOT_BITS };
    const slotWords = 2 ** (regionBits - slotBits) * (SLOT_BYTES / 4);
    const perWord = 2 ** slotBits / (SLOT_BYTES / 4);
    const untold = 2 ** (slotBits - PLACE_BITS);
    for (const { start: first, entry: firstEntry, end } of this.#parts()) {
      let entry = firstEntry;
      for (let start = first; start < end; start += 2 ** regionBits, entry += 4) {
        const slots = this.#u32(entry) >>> WORD_BITS;
        if (slots === 0) continue;
        for (let at = 0; at < slotWords; at += SLOT_BYTES / 4) {
          const tag = this.#words[slots + at + Slot.tag / 4];
          if (tag !== 0) visit(slots + at, tag, start + at * perWord + (tag & Tag.placeMask) * untold);
        }
      }
    }
  }

  /** Returns the parts of the address space that have regions, by address. */
  #parts(): (Region & { end: number })[] {
    const { directory, coveredBytes, native } = this.#layout;
    if (native === undefined) return [{ start: 0, entry: directory, end: coveredBytes }];
    // The directory of a native program is too large to be read whole.
    const { partCount, parts, partBits } = native;
    const started = Array.from({ length: this.#u32(partCount) }, (_, i) => {
      const start = this.#u32(parts + PART_BYTES * i) * 2 ** partBits;
      return { start, entry: this.#u32(parts + PART_BYTES * i + 4), end: start + 2 ** partBits };
    });
    return started.sort((a, b) => a.start - b.start);
  }

  #takeBuckets({ lastBucket, buckets }: NativeBlocks, into: IntList): void {
    const first = buckets >>> WORD_BITS;
    const end = first + (this.#u32(lastBucket) + 1) * (SLOT_BYTES / 4);
    for (let slot = first; slot < end; slot += SLOT_BYTES / 4) this.#takeChain(slot, into);
  }

  #takeChain(slot: number, into: IntList): void {
    const records = this.#layout.records >>> WORD_BITS;
    const tag = this.#words[slot + Slot.tag / 4];
    if (tag < Tag.recorded) return;
    for (let offset = (tag - Tag.recorded) * RECORD_BYTES; offset !== 0; ) {
      const record = records + (offset >>> WORD_BITS);
      into.push(record);
      offset = this.#words[record + Record.next / 4];
    }
  }

  #addressOf(record: number): number {
    const low = this.#words[record + Record.address / 4];
    return this.#layout.native === undefined
      ? low
      : low + this.#words[record + Record.addressHigh / 4] * HALF;
  }

  #u32(at: number): number {
    return this.#words[at >>> WORD_BITS]!;
  }
}
