import type { InstrumentedInfo, ShadowLayout } from "../../options.ts";
import {
  Control,
  FOLD_BYTES,
  FOLD_COUNT,
  Fold,
  REGION_BITS,
  SLOT_BYTES,
  SLOT_REGION_BYTES,
} from "../layout.ts";

const GRANULE_BYTES = 8;
const REGION_BYTES = 2 ** REGION_BITS;
const SLOT_SPAN = (REGION_BYTES / SLOT_REGION_BYTES) * SLOT_BYTES;
/** Bytes after the last segment in which static data is searched if no block marks the start of the heap. */
const MOST_BEHIND_SEGMENTS = 16 * 2 ** 20;
/** Range of a counter: 31 bits. */
const WRAP = 2 ** 31;
/** Counters above this value are remembered. No counter gets from here to its limit between two looks. */
const WATCHED = 2 ** 28;

/** Accesses per granule of static data, as columns in the order of addresses. */
export interface StaticCounts {
  /**
   * Exclusive end of the counted granules: the first block that was ever allocated, or the end of the static
   * data.
   */
  end: number;
  /** Address ÷ 8 of the touched granules. */
  granules: number[];
  /** Accesses; 0 if a loop has marked the granule and counted elsewhere. */
  accesses: number[];
  reads: boolean[];
  beyondCounters: number;
  /** True if looks were frequent enough that no counter can have overflowed unnoticed. */
  isWatched: boolean;
}

/**
 * Reads the counters of one instance's static data. They are never cleared, because no block starts there.
 */
export class StaticReader {
  readonly #view: DataView;
  readonly #counters: Uint32Array;
  readonly #layout: ShadowLayout;
  readonly #start: number;
  readonly #end: number;
  /** Last values of counters that may overflow, by granule, and the number of overflows. */
  readonly #seen = new Map<number, number>();
  readonly #wraps = new Map<number, number>();
  #isWatched = false;
  #wasLate = false;

  constructor(
    buffer: ArrayBufferLike,
    layout: ShadowLayout,
    statics: NonNullable<InstrumentedInfo["statics"]>,
  ) {
    this.#view = new DataView(buffer);
    this.#counters = new Uint32Array(buffer, 0, layout.slots / 4);
    this.#layout = layout;
    const { start, dataEnd, end } = statics;
    this.#start = Math.floor(start / GRANULE_BYTES);
    const last = Math.min(end, dataEnd + MOST_BEHIND_SEGMENTS, layout.coveredBytes);
    this.#end = Math.max(this.#start, Math.ceil(last / GRANULE_BYTES));
  }

  /** Exclusive end of the program memory whose counters are read, bytes. */
  get endBytes(): number {
    return this.#end * GRANULE_BYTES;
  }

  read(): StaticCounts {
    this.#noteOverflows();
    const folds = this.#folds();
    const end = this.#endOfStatics();
    const counts: StaticCounts = {
      end: end * GRANULE_BYTES,
      granules: [],
      accesses: [],
      reads: [],
      beyondCounters: 0,
      isWatched: this.#isWatched && !this.#wasLate,
    };
    for (let granule = this.#start; granule < end; granule++) {
      const counter = this.#counters[granule];
      if (counter === 0 && !this.#isMarked(granule)) continue;
      const beyond = (folds.get(granule) ?? 0) + (this.#wraps.get(granule) ?? 0) * WRAP;
      counts.beyondCounters += beyond;
      counts.granules.push(granule);
      counts.accesses.push((counter >>> 1) + beyond);
      counts.reads.push((counter & 1) === 1);
    }
    return counts;
  }

  /**
   * Looks for counters that have overflowed since the last look. If it is called a few times a second while
   * the program runs in another thread, no overflow is missed. `isLate`: true if the last call was longer
   * ago.
   */
  watch(isLate: boolean): void {
    this.#isWatched = true;
    this.#noteOverflows();
    if (isLate && this.#seen.size > 0) this.#wasLate = true;
  }

  /** Sets all counts to zero. Not to be called while the program runs in another thread. */
  forget(): void {
    const { control, marks } = this.#layout;
    const end = this.#endOfStatics();
    this.#counters.fill(0, this.#start, end);
    for (let granule = this.#start; granule < end; granule++) {
      const at = marks + (granule >>> 3);
      this.#view.setUint8(at, this.#view.getUint8(at) & ~(1 << (granule & 7)));
    }
    for (let i = 0; i < FOLD_COUNT * FOLD_BYTES; i++) this.#view.setUint8(control + Control.folds + i, 0);
    this.#seen.clear();
    this.#wraps.clear();
  }

  #noteOverflows(): void {
    const counters = this.#counters;
    const folds = this.#folds();
    const end = this.#endOfStatics();
    const countOf = (granule: number): number => (counters[granule] >>> 1) + (folds.get(granule) ?? 0);
    for (const [granule, before] of this.#seen) {
      const count = countOf(granule);
      this.#seen.set(granule, count);
      // Threads that overwrite each other's counts set a counter back a little; that is no overflow.
      if (before - count > WRAP / 2) this.#wraps.set(granule, (this.#wraps.get(granule) ?? 0) + 1);
    }
    for (let granule = this.#start; granule < end; granule++)
      if (counters[granule] >>> 1 > WATCHED && !this.#seen.has(granule))
        this.#seen.set(granule, countOf(granule));
  }

  /** Returns accesses that were moved out of counters, by granule. The counter has begun anew. */
  #folds(): Map<number, number> {
    const folds = new Map<number, number>();
    for (let i = 0; i < FOLD_COUNT; i++) {
      const at = this.#layout.control + Control.folds + i * FOLD_BYTES;
      const address = this.#view.getUint32(at + Fold.address, true);
      if (address === 0) break;
      folds.set(address / GRANULE_BYTES, Number(this.#view.getBigUint64(at + Fold.accesses, true)));
    }
    return folds;
  }

  #isMarked(granule: number): boolean {
    return ((this.#view.getUint8(this.#layout.marks + (granule >>> 3)) >>> (granule & 7)) & 1) === 1;
  }

  /**
   * Returns the granule of the first block that was ever allocated in possible static data. The memory from
   * there on belongs to an allocator.
   */
  #endOfStatics(): number {
    const { directory } = this.#layout;
    const first = Math.floor((this.#start * GRANULE_BYTES) / REGION_BYTES);
    for (let region = first; region * REGION_BYTES < this.endBytes; region++) {
      const slots = this.#view.getUint32(directory + region * 4, true);
      if (slots === 0) continue;
      for (let i = 0; i < SLOT_REGION_BYTES / SLOT_BYTES; i++) {
        if (this.#view.getBigUint64(slots + i * SLOT_BYTES, true) === 0n) continue;
        const granule = (region * REGION_BYTES + i * SLOT_SPAN) / GRANULE_BYTES;
        if (granule >= this.#start) return Math.min(granule, this.#end);
      }
    }
    return this.#end;
  }
}
