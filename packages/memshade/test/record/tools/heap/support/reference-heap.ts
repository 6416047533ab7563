import {
  addCapacity,
  addGrowth,
  type BlockCapacity,
  type BlockGrowth,
  NO_CAPACITY,
  NO_GROWTH,
} from "../../../../../src/profile/model/growth.ts";
import { blockMib, type Mib, mergeMib } from "../../../../../src/profile/model/mib.ts";
import type { ContextExtras } from "../../../../../src/record/tools/heap/read/context-table.ts";
import type { ReachSums } from "../../../../../src/record/tools/heap/read/reach/reach-sums.ts";

const GRANULE_BYTES = 8;
/** Blocks up to LARGEST_SMALL bytes have no successor. Blocks up to LARGEST_MEDIUM bytes have no predecessor, except by reallocation. */
const LARGEST_SMALL = 128;
const LARGEST_MEDIUM = 511;

interface LiveBlock {
  address: number;
  size: number;
  time: number;
  context: string;
  /** Number of copies that brought the contents here, and the bytes copied. */
  copies: number;
  copiedBytes: number;
  steps: number;
  /** Bytes that were copied into the block at its start. */
  carried: number;
}

interface Granule {
  count: number;
  reads: boolean;
  /** True once the block was accessed, even if its accesses are counted elsewhere. */
  touched: boolean;
}

export interface ReferenceContext {
  mib: Mib | undefined;
  extras: Omit<ContextExtras, "entries" | "growth" | "capacity" | "drag" | "collected" | keyof ReachSums> & {
    growth?: BlockGrowth | undefined;
    capacity?: BlockCapacity | undefined;
  };
}

const NO_EXTRAS: ReferenceContext["extras"] = {
  liveBytes: 0,
  liveBlocks: 0,
  peakBytes: 0,
  peakBlocks: 0,
  neverAccessed: 0,
  neverAccessedBytes: 0,
  writtenNeverRead: 0,
  writtenNeverReadBytes: 0,
  granulesTouched: 0,
  granules: 0,
  reallocations: 0,
  temporary: 0,
};

/** The heap profile, kept in the simplest way: maps and lists, every block merged by the rules of the MIB model. */
export class ReferenceHeap {
  readonly contexts = new Map<string, ReferenceContext>();
  readonly #live = new Map<number, LiveBlock>();
  readonly #granules = new Map<number, Granule>();
  /** Bytes that the program has stored. */
  readonly #contents = new Map<number, number>();
  /** The last block of more than `LARGEST_MEDIUM` bytes, if it lives. */
  #youngest: LiveBlock | undefined;
  readonly #histograms: boolean;
  allocations = 0;
  frees = 0;
  peakBytes = 0;
  peakBlocks = 0;
  heapAccesses = 0;
  otherAccesses = 0;
  unmatchedFrees = 0;

  constructor(histograms: boolean) {
    this.#histograms = histograms;
  }

  get liveBytes(): number {
    return [...this.#live.values()].reduce((sum, { size }) => sum + size, 0);
  }

  get liveBlocks(): number {
    return this.#live.size;
  }

  access(address: number, reads: boolean): void {
    const granule = this.#granuleAt(address);
    granule.count++;
    granule.reads ||= reads;
    granule.touched = true;
  }

  /** Marks an access that is counted elsewhere. */
  touch(address: number): void {
    this.#granuleAt(address).touched = true;
  }

  /** Records the bytes of a store, whose access is counted separately. */
  put(address: number, ...bytes: number[]): void {
    bytes.forEach((byte, i) => {
      this.#contents.set(address + i, byte);
    });
  }

  contentsAt(address: number, bytes: number): number[] {
    return Array.from({ length: bytes }, (_, i) => this.#contents.get(address + i) ?? 0);
  }

  allocate(address: number, size: number, context: string): void {
    const bytes = Math.max(1, size);
    this.#takeCounters(address, bytes, ({ count }) => {
      this.otherAccesses += count;
    });
    this.allocations++;
    const figures = this.#contextOf(context);
    figures.extras.liveBytes += bytes;
    figures.extras.liveBlocks++;
    const block = { address, size: bytes, time: this.allocations, context };
    const chained = { ...block, copies: 0, copiedBytes: 0, steps: 0, carried: 0 };
    this.#live.set(address, chained);
    if (bytes > LARGEST_MEDIUM) this.#youngest = chained;
    if (this.liveBytes <= this.peakBytes) return;
    this.peakBytes = this.liveBytes;
    this.peakBlocks = this.liveBlocks;
    for (const { extras } of this.contexts.values()) {
      extras.peakBytes = extras.liveBytes;
      extras.peakBlocks = extras.liveBlocks;
    }
  }

  release(address: number, copied = false): void {
    const block = this.#live.get(address);
    if (block === undefined) {
      if (address !== 0) this.unmatchedFrees++;
      return;
    }
    this.#live.delete(address);
    this.frees++;
    const { size, time } = block;
    const figures = this.#contextOf(block.context);
    const { extras } = figures;
    extras.liveBytes -= size;
    extras.liveBlocks--;
    if (copied) block.carried = this.#usedBytes(block);
    else if (size > LARGEST_SMALL && !this.#hasSuccessor(block)) this.#endChain(block, extras);
    if (this.#youngest === block) this.#youngest = undefined;
    let accesses = 0;
    let reads = false;
    const histogram: bigint[] = [];
    this.#takeCounters(address, size, ({ count, reads: read, touched }) => {
      accesses += count;
      reads ||= read;
      histogram.push(BigInt(count));
      extras.granules++;
      if (touched) extras.granulesTouched++;
    });
    this.heapAccesses += accesses;
    if (!copied && accesses === 0) {
      extras.neverAccessed++;
      extras.neverAccessedBytes += size;
    } else if (!copied && !reads) {
      extras.writtenNeverRead++;
      extras.writtenNeverReadBytes += size;
    }
    if (this.allocations - time <= 1) extras.temporary++;
    const mib = blockMib({
      accessCount: BigInt(accesses),
      size,
      allocTimestamp: time,
      deallocTimestamp: this.allocations,
      allocCpuId: 0,
      deallocCpuId: 0,
      histogram: this.#histograms ? histogram : undefined,
    });
    figures.mib = figures.mib === undefined ? mib : mergeMib(figures.mib, mib);
  }

  reallocate(old: number, address: number, size: number, context: string): void {
    if (address === 0) {
      if (size === 0) this.release(old);
      return;
    }
    const before = this.#live.get(old);
    if (old !== 0) this.release(old, true);
    this.allocate(address, size, context);
    if (old !== 0) this.#contextOf(context).extras.reallocations++;
    const after = this.#live.get(address);
    if (before === undefined || after === undefined || after.size <= LARGEST_SMALL) return;
    const isGrown = after.size > before.size;
    const isCopied = isGrown && old !== address;
    after.copies = before.copies + (isCopied ? 1 : 0);
    after.copiedBytes = before.copiedBytes + (isCopied ? before.size : 0);
    after.steps = before.steps + (isGrown && old === address ? 1 : 0);
    after.carried = Math.min(before.carried, after.size);
  }

  /** Bytes up to the end of the last accessed granule, or up to the last byte copied in. */
  #usedBytes({ address, size, carried }: LiveBlock): number {
    let used = 0;
    for (let at = 0; at < size; at += GRANULE_BYTES)
      if (this.#granules.get(Math.floor((address + at) / GRANULE_BYTES))?.touched === true)
        used = at + GRANULE_BYTES;
    return Math.max(Math.min(used, size), carried);
  }

  /** True if an ending block continues in the youngest large block; the chain then continues too. */
  #hasSuccessor(block: LiveBlock): boolean {
    const next = this.#youngest;
    const used = this.#usedBytes(block);
    if (next === undefined || next === block || next.size <= block.size || used < block.size / 2)
      return false;
    if (next.time < block.time || next.copies > 0 || next.carried > 0) return false;
    if (!this.#isCopy(block, next, used) && !this.#isMovedTo(block, next, used)) return false;
    next.copies = block.copies + 1;
    next.copiedBytes = block.copiedBytes + used;
    next.steps = block.steps;
    next.carried = used;
    return true;
  }

  #isCopy(block: LiveBlock, next: LiveBlock, used: number): boolean {
    // A string continues at the end of the old content.
    const same = Math.floor((used - 1) / 8) * 8;
    const contents = this.contentsAt(block.address, same);
    const words = new Set<string>();
    for (let at = 0; at < same; at += 8) words.add(contents.slice(at, at + 8).join());
    return words.size > 1 && contents.join() === this.contentsAt(next.address, same).join();
  }

  #isMovedTo(block: LiveBlock, next: LiveBlock, used: number): boolean {
    if (next.context !== block.context || next.time !== this.allocations) return false;
    const seen = Math.min(next.size, 2 * block.size);
    let accesses = 0;
    let touched = 0;
    for (let at = 0; at < seen; at += GRANULE_BYTES) {
      const granule = this.#granules.get(Math.floor((next.address + at) / GRANULE_BYTES));
      accesses += granule?.count ?? 0;
      if (granule?.touched === true) touched++;
    }
    const old = Math.ceil(block.size / GRANULE_BYTES);
    const more = Math.ceil(seen / GRANULE_BYTES) - old;
    return touched <= old + Math.floor(more / 2) && accesses >= used / 32;
  }

  #endChain(block: LiveBlock, extras: ReferenceContext["extras"]): void {
    const { size, copies, copiedBytes, steps } = block;
    const used = this.#usedBytes(block);
    if (copies > 0)
      extras.growth = addGrowth(extras.growth ?? NO_GROWTH, {
        chains: 1,
        copies,
        copiedBytes,
        mostCopies: copies,
        finalBytes: size,
        usedBytes: used,
        largestFinal: size,
      });
    if (steps > 0)
      extras.growth = addGrowth(extras.growth ?? NO_GROWTH, {
        ...NO_GROWTH,
        steppedChains: 1,
        steps,
        steppedBytes: used,
      });
    if (size > LARGEST_MEDIUM && used > 0)
      extras.capacity = addCapacity(extras.capacity ?? NO_CAPACITY, {
        blocks: 1,
        bytes: size,
        unusedBytes: size - used,
      });
  }

  /** All accesses so far outside of ended blocks. */
  get pendingAccesses(): number {
    return [...this.#granules.values()].reduce((sum, { count }) => sum + count, 0);
  }

  #granuleAt(address: number): Granule {
    const index = Math.floor(address / GRANULE_BYTES);
    let granule = this.#granules.get(index);
    if (granule === undefined) {
      granule = { count: 0, reads: false, touched: false };
      this.#granules.set(index, granule);
    }
    return granule;
  }

  #takeCounters(address: number, size: number, each: (granule: Granule) => void): void {
    const last = Math.floor((address + size - 1) / GRANULE_BYTES);
    for (let granule = Math.floor(address / GRANULE_BYTES); granule <= last; granule++) {
      each(this.#granules.get(granule) ?? { count: 0, reads: false, touched: false });
      this.#granules.delete(granule);
    }
  }

  #contextOf(context: string): ReferenceContext {
    let figures = this.contexts.get(context);
    if (figures === undefined) {
      figures = { mib: undefined, extras: { ...NO_EXTRAS } };
      this.contexts.set(context, figures);
    }
    return figures;
  }
}
