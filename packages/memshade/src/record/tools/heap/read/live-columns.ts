import type { NativeBlocks, ShadowLayout } from "../../options.ts";
import { CONTEXT_BYTES, RECORD_BYTES, Record, SLOT_BYTES, Slot, Tag } from "../layout.ts";
import type { LiveBlock } from "./live-blocks.ts";

/** Bits of an address in its slot that a tag has. */
const PLACE_BITS = 4;
const PART_BYTES = 8;

/** Live blocks as columns, by address. There may be millions. */
export interface LiveColumns {
  readonly length: number;
  readonly starts: Float64Array;
  readonly sizes: Uint32Array;
  readonly contexts: Uint32Array;
  readonly times: Uint32Array;
  /** Index among the blocks that are followed to their last access; 0 if a block is not followed. */
  readonly followed: Uint32Array;
  /** Accesses of followed blocks that the counters had no room for. */
  readonly folded: ReadonlyMap<number, number>;
}

export function columnsOf(blocks: readonly LiveBlock[]): LiveColumns {
  const columns = emptyColumns(blocks.length);
  blocks.forEach(({ address, size, context, time, followed, folded }, i) => {
    columns.starts[i] = address;
    columns.sizes[i] = size;
    columns.contexts[i] = context;
    columns.times[i] = time;
    columns.followed[i] = followed;
    if (followed !== 0) columns.folded.set(i, folded);
  });
  return columns;
}

function emptyColumns(length: number): LiveColumns & { folded: Map<number, number> } {
  return {
    length,
    starts: new Float64Array(length),
    sizes: new Uint32Array(length),
    contexts: new Uint32Array(length),
    times: new Uint32Array(length),
    followed: new Uint32Array(length),
    folded: new Map(),
  };
}

/** Returns the columns of the blocks in the tables of a native program. */
export function nativeColumns(
  buffer: ArrayBufferLike,
  layout: ShadowLayout & { native: NativeBlocks },
): LiveColumns {
  return new NativeColumns(new Uint32Array(buffer), layout).read();
}

class NativeColumns {
  readonly #words: Uint32Array;
  readonly #layout: ShadowLayout & { native: NativeBlocks };

  constructor(words: Uint32Array, layout: ShadowLayout & { native: NativeBlocks }) {
    this.#words = words;
    this.#layout = layout;
  }

  read(): LiveColumns {
    let inSlots = 0;
    const recorded: number[] = [];
    this.#forEachSlot((_, tag) => {
      if (tag < Tag.recorded) inSlots++;
      else this.#takeChain(tag, recorded);
    });
    const { lastBucket, buckets } = this.#layout.native;
    for (let bucket = 0; bucket <= this.#u32(lastBucket); bucket++) {
      const tag = this.#u32(buckets + SLOT_BYTES * bucket + Slot.tag);
      if (tag >= Tag.recorded) this.#takeChain(tag, recorded);
    }
    return this.#merge(inSlots, this.#byAddress(recorded));
  }

  /** Merges blocks in slots, which are in the order of addresses, with those in records. */
  #merge(inSlots: number, recorded: readonly number[]): LiveColumns {
    const columns = emptyColumns(inSlots + recorded.length);
    const { starts, sizes, contexts, times } = columns;
    let at = 0;
    let next = 0;
    const takeRecords = (end: number): void => {
      for (; next < recorded.length && this.#addressOf(recorded[next]!) < end; next++)
        this.#takeRecord(recorded[next]!, columns, at++);
    };
    this.#forEachSlot((slot, tag, start) => {
      if (tag >= Tag.recorded) return;
      takeRecords(start);
      starts[at] = start;
      sizes[at] = (tag >>> Tag.sizeShift) & Tag.sizeMask;
      contexts[at] = tag >>> Tag.contextShift;
      times[at] = this.#u32(slot + Slot.time);
      at++;
    });
    takeRecords(Number.POSITIVE_INFINITY);
    return columns;
  }

  #takeRecord(record: number, columns: LiveColumns & { folded: Map<number, number> }, at: number): void {
    columns.starts[at] = this.#addressOf(record);
    columns.sizes[at] = this.#u32(record + Record.size);
    columns.contexts[at] = (this.#u32(record + Record.mib) - this.#layout.mibs) / CONTEXT_BYTES;
    columns.times[at] = this.#u32(record + Record.time);
    const followed = this.#u32(record + Record.followed);
    columns.followed[at] = followed;
    if (followed === 0) return;
    const folded = this.#u32(record + Record.folded) + this.#u32(record + Record.folded + 4) * 2 ** 32;
    columns.folded.set(at, folded);
  }

  /** Calls `visit` for each used slot. `start`: start of the block, if the slot holds one. */
  #forEachSlot(visit: (slot: number, tag: number, start: number) => void): void {
    const { partCount, parts, partBits, regionBits, slotBits } = this.#layout.native;
    const started = Array.from({ length: this.#u32(partCount) }, (_, i) => ({
      start: this.#u32(parts + PART_BYTES * i) * 2 ** partBits,
      entries: this.#u32(parts + PART_BYTES * i + 4),
    }));
    const slotsBytes = 2 ** (regionBits - slotBits) * SLOT_BYTES;
    const perByte = 2 ** slotBits / SLOT_BYTES;
    const untold = 2 ** (slotBits - PLACE_BITS);
    for (const { start, entries } of started.sort((a, b) => a.start - b.start))
      for (let region = 0; region < 2 ** (partBits - regionBits); region++) {
        const slots = this.#u32(entries + 4 * region);
        if (slots === 0) continue;
        const from = start + region * 2 ** regionBits;
        for (let at = 0; at < slotsBytes; at += SLOT_BYTES) {
          const tag = this.#u32(slots + at + Slot.tag);
          if (tag !== 0) visit(slots + at, tag, from + at * perByte + (tag & Tag.placeMask) * untold);
        }
      }
  }

  #takeChain(tag: number, into: number[]): void {
    const { records } = this.#layout;
    for (let offset = (tag - Tag.recorded) * RECORD_BYTES; offset !== 0; ) {
      into.push(records + offset);
      offset = this.#u32(records + offset + Record.next);
    }
  }

  #byAddress(records: readonly number[]): number[] {
    const addresses = Float64Array.from(records, (record) => this.#addressOf(record));
    const order = Array.from(records.keys()).sort((a, b) => addresses[a]! - addresses[b]!);
    return order.map((i) => records[i]!);
  }

  #addressOf(record: number): number {
    return this.#u32(record + Record.address) + this.#u32(record + Record.addressHigh) * 2 ** 32;
  }

  #u32(at: number): number {
    return this.#words[at >>> 2]!;
  }
}
