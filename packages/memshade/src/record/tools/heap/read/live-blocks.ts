import { getU64 } from "../../../../ground/bytes/numbers.ts";
import {
  ACCESSES_PER_BLOCK,
  type BlockDrag,
  dragOf,
  type WorkMeanwhile,
} from "../../../../profile/model/over-time/drag.ts";
import type { NativeBlocks, ShadowLayout } from "../../options.ts";
import {
  CONTEXT_BYTES,
  Control,
  FOLLOWED_BYTES,
  Followed,
  RECORD_BYTES,
  REGION_BITS,
  Record,
  SLOT_BITS,
  SLOT_BYTES,
  Slot,
  Tag,
  WENT_ON,
} from "../layout.ts";
import { COUNTED_PIECE, countersOf, type GranuleCounters, type TableMemory } from "./granule-counters.ts";

export const GRANULE_BYTES = 8;
/** Bits of an address in its slot that a tag has. */
const PLACE_BITS = 4;
/** Least share of the program's work without an access after which a block is idle. */
const LEAST_IDLE = 1 / 64;

/**
 * A live block. Sizes are in bytes, `context` is the index of the context's entry, and `folded` are accesses
 * its counters had no room for.
 */
export interface LiveBlock {
  address: number;
  size: number;
  context: number;
  time: number;
  folded: number;
  /** True if its contents were copied into another block; a collector frees it later. */
  wentOn: boolean;
  /**
   * Chain of the block: copies of its contents so far, bytes copied, steps in place, and bytes in use when it
   * began.
   */
  copies: number;
  copiedBytes: number;
  steps: number;
  carried: number;
  /** Index among the blocks that are followed to their last access; 0 if it is not followed. */
  followed: number;
  instance: number;
}

/**
 * Blocks in the slots and records of an instance's tables. Changes nothing, so it may be read while the
 * program runs.
 */
export class LiveBlocks {
  readonly #layout: ShadowLayout;
  readonly #view: DataView;
  readonly #counters: GranuleCounters;
  /** Numbers of the instances that share the tables, by their numbers there. */
  readonly #numbers: ReadonlyMap<number, number>;

  constructor(memory: TableMemory, layout: ShadowLayout, numbers: ReadonlyMap<number, number>) {
    this.#layout = layout;
    this.#view = new DataView(memory.buffer);
    this.#counters = countersOf(memory, layout.slots);
    this.#numbers = numbers;
  }

  *#regions(): Generator<{ start: number; slots: number }> {
    const { directory, coveredBytes, native } = this.#layout;
    if (native === undefined) {
      yield* this.#regionsIn(directory, 0, coveredBytes);
      return;
    }
    // The directory of a native program is too large to be read whole.
    const partBytes = 2 ** native.partBits;
    const parts = Array.from({ length: this.#u32(native.partCount) }, (_, i) => ({
      start: this.#u32(native.parts + 8 * i) * partBytes,
      entries: this.#u32(native.parts + 8 * i + 4),
    }));
    for (const { start, entries } of parts.sort((a, b) => a.start - b.start))
      yield* this.#regionsIn(entries, start, start + partBytes);
  }

  *#regionsIn(entries: number, from: number, to: number): Generator<{ start: number; slots: number }> {
    const regionBytes = 2 ** this.#regionBits;
    for (let start = from, entry = entries; start < to; start += regionBytes, entry += 4) {
      const slots = this.#u32(entry);
      if (slots !== 0) yield { start, slots };
    }
  }

  get #regionBits(): number {
    return this.#layout.native?.regionBits ?? REGION_BITS;
  }

  get #slotBits(): number {
    return this.#layout.native?.slotBits ?? SLOT_BITS;
  }

  get #slotBytes(): number {
    return 2 ** (this.#regionBits - this.#slotBits) * SLOT_BYTES;
  }

  *[Symbol.iterator](): Generator<LiveBlock> {
    const instance = this.#control32(Control.instance);
    const perByte = 2 ** this.#slotBits / SLOT_BYTES;
    const untold = 2 ** (this.#slotBits - PLACE_BITS);
    const slotBytes = this.#slotBytes;
    const { native } = this.#layout;
    const recorded = native === undefined ? [] : this.#recordsByAddress(native);
    let next = 0;
    for (const { start, slots } of this.#regions())
      for (let at = 0; at < slotBytes; at += SLOT_BYTES) {
        const tag = this.#u32(slots + at + Slot.tag);
        if (tag === 0) continue;
        if (tag >= Tag.recorded) {
          if (native === undefined)
            for (const record of this.#chainOf(tag)) yield this.#recordedBlock(record);
          continue;
        }
        const address = start + at * perByte + (tag & Tag.placeMask) * untold;
        for (; next < recorded.length && this.#addressOf(recorded[next]) < address; next++)
          yield this.#recordedBlock(recorded[next]);
        yield {
          address,
          size: (tag >>> Tag.sizeShift) & Tag.sizeMask,
          context: tag >>> Tag.contextShift,
          time: this.#u32(slots + at + Slot.time),
          folded: 0,
          wentOn: false,
          copies: 0,
          copiedBytes: 0,
          steps: 0,
          carried: 0,
          followed: 0,
          instance,
        };
      }
    for (; next < recorded.length; next++) yield this.#recordedBlock(recorded[next]);
  }

  /** Returns the records of a native program by address. Its chains are in the order of time or of hashes. */
  #recordsByAddress({ lastBucket, buckets }: NativeBlocks): number[] {
    const records: number[] = [];
    const take = (slot: number): void => {
      const tag = this.#u32(slot + Slot.tag);
      if (tag >= Tag.recorded) records.push(...this.#chainOf(tag));
    };
    const slotBytes = this.#slotBytes;
    for (const { slots } of this.#regions())
      for (let at = 0; at < slotBytes; at += SLOT_BYTES) take(slots + at);
    for (let bucket = 0; bucket <= this.#u32(lastBucket); bucket++) take(buckets + SLOT_BYTES * bucket);
    return records.sort((a, b) => this.#addressOf(a) - this.#addressOf(b));
  }

  *regionStarts(): Generator<number> {
    for (const { start } of this.#regions()) yield start;
  }

  /** Yields the records of a slot's chain. `tag`: refers to the first record. */
  *#chainOf(tag: number): Generator<number> {
    const { records } = this.#layout;
    for (let offset = (tag - Tag.recorded) * RECORD_BYTES; offset !== 0; ) {
      yield records + offset;
      offset = this.#u32(records + offset + Record.next);
    }
  }

  #addressOf(record: number): number {
    const low = this.#u32(record + Record.address);
    return this.#layout.native === undefined ? low : low + this.#u32(record + Record.addressHigh) * 2 ** 32;
  }

  #recordedBlock(record: number): LiveBlock {
    const copies = this.#u32(record + Record.copies);
    return {
      address: this.#addressOf(record),
      size: this.#u32(record + Record.size),
      context: (this.#u32(record + Record.mib) - this.#layout.mibs) / CONTEXT_BYTES,
      time: this.#u32(record + Record.time),
      folded: this.#u64(record + Record.folded),
      followed: this.#u32(record + Record.followed),
      wentOn: copies === WENT_ON,
      copies,
      copiedBytes: this.#u64(record + Record.copiedBytes),
      steps: this.#u32(record + Record.steps),
      carried: this.#u32(record + Record.carried),
      instance: this.#ownerOf(record),
    };
  }

  #ownerOf(record: number): number {
    if (this.#layout.stackCount === 1) return this.#control32(Control.instance);
    const local = this.#u32(record + Record.owner);
    return this.#numbers.get(local) ?? local;
  }

  /** Returns the address of the lowest block in a slot, ended ones included; undefined if there was none. */
  lowest(): number | undefined {
    for (const { start, slots } of this.#regions())
      for (let at = 0; at < this.#slotBytes; at += SLOT_BYTES)
        if (this.#u64(slots + at) !== 0) return start + at * (2 ** this.#slotBits / SLOT_BYTES);
    return undefined;
  }

  /**
   * Returns, for a followed live block: its accesses since the last look; true if it had none while the
   * program did a good part of its work; and the work that was known when it began. Undefined if the block is
   * not followed.
   */
  followed({
    address,
    size,
    folded,
    followed,
  }: Pick<LiveBlock, "address" | "size" | "folded" | "followed">):
    | { accesses: number; stands: number; isIdle: boolean; startWork: number }
    | undefined {
    if (followed === 0) return undefined;
    const entry = this.#layout.followed + followed * FOLLOWED_BYTES;
    const end = Math.floor((address + size - 1) / GRANULE_BYTES) + 1;
    const total = this.accessesIn(Math.floor(address / GRANULE_BYTES), end) + folded;
    const accesses = Math.max(0, total - this.#u64(entry + Followed.accesses));
    const { after } = this.#workOf(entry);
    const isIdle = accesses === 0 && after >= this.workSeen * LEAST_IDLE;
    const startWork = this.#u64(entry + Followed.startWork);
    return { accesses, stands: this.#u32(entry + Followed.weight), isIdle, startWork };
  }

  /**
   * Does for a live block what the runtime's `endFollowed` does when it is freed. `accesses`: of the whole
   * life.
   */
  dragOf({ size, time, followed, wentOn }: LiveBlock, now: number, accesses: number): BlockDrag {
    const entry = this.#layout.followed + followed * FOLLOWED_BYTES;
    const isIdle = !wentOn && accesses > 0 && this.#u64(entry + Followed.accesses) === accesses;
    const lastUse = isIdle ? this.#u32(entry + Followed.seen) : now;
    const { all, after } = this.#workOf(entry);
    return dragOf(
      { size, start: time, lastUse, end: now, work: { all, after: isIdle ? after : 0 } },
      this.#u32(entry + Followed.weight),
    );
  }

  /** Returns the work since the beginning of a followed block, and since the look that found it used last. */
  #workOf(entry: number): WorkMeanwhile {
    const work = this.workSeen;
    return {
      all: work - this.#u64(entry + Followed.startWork),
      after: work - this.#control64(Control.foundLate) - this.#u64(entry + Followed.seenWork),
    };
  }

  /** The program's work up to the last look, plus allocations since then. */
  get workSeen(): number {
    return this.#control64(Control.allocations) * ACCESSES_PER_BLOCK + this.#control64(Control.accesses);
  }

  /** Sums the accesses of granules' counters. A counter is accesses × 2, plus the read bit. */
  accessesIn(from: number, end: number): number {
    let sum = 0;
    for (let piece = from; piece < end; piece += COUNTED_PIECE) {
      const counters = this.#counters.read(piece, Math.min(end, piece + COUNTED_PIECE));
      // An iterator takes four times as long, and there may be millions.
      for (let i = 0; i < counters.length; i++) sum += counters[i] >>> 1;
    }
    return sum;
  }

  #control32(offset: number): number {
    return this.#u32(this.#layout.control + offset);
  }

  #control64(offset: number): number {
    return this.#u64(this.#layout.control + offset);
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  #u64(at: number): number {
    return getU64(this.#view, at);
  }
}
