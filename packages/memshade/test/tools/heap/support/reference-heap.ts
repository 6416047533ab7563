import { blockMib, type Mib, mergeMib } from "../../../../src/model/mib.ts";
import type { ReachSums } from "../../../../src/tools/heap/read/reach/reach-sums.ts";
import type { ContextExtras } from "../../../../src/tools/heap/read/read-shadow.ts";

const GRANULE_BYTES = 8;

interface LiveBlock {
  address: number;
  size: number;
  time: number;
  context: string;
}

/** What the profile should say of one calling context. */
export interface ReferenceContext {
  mib: Mib | undefined;
  extras: PlainExtras;
}

/** Those that follow from the sequence of calls alone. */
type PlainExtras = Omit<ContextExtras, keyof ReachSums>;

const NO_EXTRAS: PlainExtras = {
  ...{ liveBytes: 0, liveBlocks: 0, peakBytes: 0, peakBlocks: 0, neverAccessed: 0, neverAccessedBytes: 0 },
  ...{
    writtenNeverRead: 0,
    writtenNeverReadBytes: 0,
    granulesTouched: 0,
    granules: 0,
    reallocations: 0,
    temporary: 0,
  },
};

/** The heap profile kept in the plainest way: maps and lists, every block merged by the rules of the MIB model. */
export class ReferenceHeap {
  readonly contexts = new Map<string, ReferenceContext>();
  readonly #live = new Map<number, LiveBlock>();
  readonly #granules = new Map<number, { count: number; reads: boolean }>();
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
    const granule = Math.floor(address / GRANULE_BYTES);
    const known = this.#granules.get(granule);
    this.#granules.set(granule, { count: (known?.count ?? 0) + 1, reads: reads || known?.reads === true });
  }

  allocate(address: number, size: number, context: string): void {
    const bytes = Math.max(1, size);
    this.#takeCounters(address, bytes, (count) => {
      this.otherAccesses += count;
    });
    this.allocations++;
    const figures = this.#contextOf(context);
    figures.extras.liveBytes += bytes;
    figures.extras.liveBlocks++;
    this.#live.set(address, { address, size: bytes, time: this.allocations, context });
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
    let accesses = 0;
    let reads = false;
    const histogram: bigint[] = [];
    this.#takeCounters(address, size, (count, read) => {
      accesses += count;
      reads ||= read;
      histogram.push(BigInt(count));
      extras.granules++;
      if (count > 0) extras.granulesTouched++;
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
    if (old !== 0) this.release(old, true);
    this.allocate(address, size, context);
    if (old !== 0) this.#contextOf(context).extras.reallocations++;
  }

  /** All accesses so far that are in no block that has ended. */
  get pendingAccesses(): number {
    return [...this.#granules.values()].reduce((sum, { count }) => sum + count, 0);
  }

  #takeCounters(address: number, size: number, each: (count: number, reads: boolean) => void): void {
    const last = Math.floor((address + size - 1) / GRANULE_BYTES);
    for (let granule = Math.floor(address / GRANULE_BYTES); granule <= last; granule++) {
      const counter = this.#granules.get(granule);
      each(counter?.count ?? 0, counter?.reads === true);
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
