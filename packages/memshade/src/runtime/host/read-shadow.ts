import type { ShadowLayout } from "../../instrument/index.ts";
import { blockMib, type Mib, mergeMib } from "../../model/mib.ts";
import { BLOCK_BYTES, Block, Control, NODE_BYTES, Node, RECORD_BYTES, Record } from "./shadow-offsets.ts";

const GRANULE_BYTES = 8;
/** Only blocks this long can have marks. */
const SHORTEST_MARKED_BYTES = 512;
/** Memory above the highest block that is looked through for accesses outside of blocks. */
const BEYOND_HIGHEST_BLOCK_BYTES = 16 * 2 ** 20;
/** A counter above this is close to the 31 bits it has. */
const NEARLY_FULL = 2 ** 30;

/** Figures of one calling context that MemProf's block has no field for. */
export interface ContextExtras {
  liveBytes: number;
  liveBlocks: number;
  peakBytes: number;
  peakBlocks: number;
  neverAccessed: number;
  neverAccessedBytes: number;
  writtenNeverRead: number;
  writtenNeverReadBytes: number;
  granulesTouched: number;
  granules: number;
  reallocations: number;
  temporary: number;
}

/** Control fields that count what could not be recorded as it should. */
const FAULT_COUNTERS = [
  Control.overflowContexts,
  Control.overflowBlocks,
  Control.unfollowedFrees,
  Control.unmatchedFrees,
  Control.overlaps,
  Control.sharedGranules,
  Control.outside,
  Control.misaligned,
  Control.nullFrees,
  Control.histogramDropped,
];

/** One calling context of an instance. */
export interface ShadowContext {
  /** Code offsets of the calls, innermost first. Empty for what found no room in the tables. */
  sites: number[];
  /** Ended blocks, and live ones as if they ended now. Undefined when there are none. */
  mib: Mib | undefined;
  /** Count of new peaks at which `peakBytes` was taken, for contexts that are handed out before the end. */
  peakStamp: number;
  extras: ContextExtras;
}

/** Totals of an instance. */
export interface ShadowTotals {
  allocations: number;
  /** Of blocks beyond the tables' bound. */
  unfollowedBytes: number;
  peakBytes: number;
  peakBlocks: number;
  peakStamp: number;
  liveBytes: number;
  liveBlocks: number;
  otherAccesses: number;
  profilerBytes: number;
  overflowContexts: number;
  overflowBlocks: number;
  /** Of those, how many have ended again. */
  unfollowedFrees: number;
  unmatchedFrees: number;
  overlaps: number;
  sharedGranules: number;
  outside: number;
  misaligned: number;
  histogramsDropped: number;
  nearlyFullCounters: number;
}

export interface ShadowContents {
  totals: ShadowTotals;
  contexts: ShadowContext[];
}

/** Reads the shadow tables of one instance. Changes nothing, so it may run while the program does. */
export class ShadowReader {
  readonly #layout: ShadowLayout;
  readonly #buffer: ArrayBufferLike;
  readonly #view: DataView;
  readonly #counters: Uint32Array;
  readonly #exact: boolean;
  readonly #wallClock: boolean;
  /** Allocations before a reset whose blocks have ended since or before. */
  #forgottenAllocations = 0;
  /** Accesses before a reset that are still in counters of no live block. */
  #forgottenAccesses = 0;
  /** Sum of the counters of live blocks. */
  #liveCounters = 0;

  constructor(memory: WebAssembly.Memory, layout: ShadowLayout, exact: boolean, wallClock: boolean) {
    this.#wallClock = wallClock;
    this.#layout = layout;
    this.#exact = exact;
    this.#buffer = memory.buffer;
    this.#view = new DataView(this.#buffer);
    this.#counters = new Uint32Array(this.#buffer, 0, layout.slots / 4);
  }

  /** Everything, live blocks counted as if they ended now. */
  read(): ShadowContents {
    this.#liveCounters = 0;
    const contexts = this.readContexts();
    const byIndex = new Map(contexts.map((context) => [context.index, context]));
    const totals = this.#totals();
    const now = this.#clock();
    const instance = this.#control32(Control.instance);
    const records = this.#control32(Control.recordNext);
    for (let i = 1; i <= records; i++) {
      const at = this.#layout.records + i * RECORD_BYTES;
      const address = this.#u32(at + Record.address);
      if (address === 0) continue;
      const context = byIndex.get(this.#u32(at + Record.mib));
      if (context !== undefined) this.#endLiveBlock(at, address, now, instance, context, totals);
    }
    totals.otherAccesses += this.#sumOfCounters() - this.#liveCounters - this.#forgottenAccesses;
    return { totals, contexts };
  }

  /** Gives the instance the number that stands for the CPU in its blocks, also in those its start function made. */
  setInstance(number: number): void {
    const { control, mibs, records } = this.#layout;
    const view = this.#view;
    view.setUint32(control + Control.instance, number, true);
    const lastRecord = this.#control32(Control.recordNext);
    for (let i = 1; i <= lastRecord; i++)
      view.setUint32(records + i * RECORD_BYTES + Record.instance, number, true);
    const lastContext = this.#control32(Control.mibNext);
    for (let i = 1; i <= lastContext; i++) {
      const at = mibs + i * BLOCK_BYTES;
      if (this.#u32(at + Block.allocCount) === 0) continue;
      view.setUint32(at + Block.allocCpu, number, true);
      view.setUint32(at + Block.deallocCpu, number, true);
    }
  }

  /**
   * Forgets all blocks that have ended, and the peak. Not to be called while the program runs in another thread.
   */
  forgetEnded(): void {
    const { control, mibs } = this.#layout;
    const view = this.#view;
    const count = this.#control32(Control.mibNext);
    for (let index = 0; index <= count; index++) {
      const at = mibs + index * BLOCK_BYTES;
      const kept = Block.reallocations;
      new Uint8Array(this.#buffer, at + kept, Block.histogram - kept).fill(0);
      new Uint8Array(this.#buffer, at + Block.minSize, 16).fill(255);
      new Uint8Array(this.#buffer, at + Block.minAccesses, 8).fill(255);
      new Uint8Array(this.#buffer, at + Block.allocCpu, 8).fill(255);
      view.setUint32(at + Block.histogramLength, 0, true);
    }
    for (const field of FAULT_COUNTERS) view.setUint32(control + field, 0, true);
    view.setBigUint64(control + Control.otherAccesses, 0n, true);
    view.setBigUint64(control + Control.unfollowedBytes, 0n, true);
    view.setBigUint64(
      control + Control.peakBytes,
      view.getBigUint64(control + Control.liveBytes, true),
      true,
    );
    view.setUint32(control + Control.peakBlocks, this.#control32(Control.liveBlocks), true);
    view.setUint32(control + Control.peakStamp, this.#control32(Control.peakStamp) + 1, true);
    this.#forgottenAccesses = 0;
    this.#forgottenAccesses = this.read().totals.otherAccesses;
    this.#forgottenAllocations = this.#control64(Control.allocations) - this.#control32(Control.liveBlocks);
  }

  /** The contexts with what has ended in them. Order: as they were first seen. */
  readContexts(): (ShadowContext & { index: number })[] {
    const contexts: (ShadowContext & { index: number })[] = [];
    const stamp = this.#control32(Control.peakStamp);
    const count = this.#control32(Control.mibNext);
    for (let index = 0; index <= count; index++) {
      const at = this.#layout.mibs + index * BLOCK_BYTES;
      const ended = this.#u32(at + Block.allocCount);
      const extras = this.#extras(at, stamp);
      if (ended === 0 && extras.liveBlocks === 0 && extras.peakBytes === 0) continue;
      contexts.push({
        index,
        sites: index === 0 ? [] : this.#sitesOf(this.#u32(at + Block.node)),
        mib: ended === 0 ? undefined : this.#mib(at, ended),
        peakStamp: stamp,
        extras,
      });
    }
    return contexts;
  }

  #sitesOf(leaf: number): number[] {
    const sites: number[] = [];
    for (let node = leaf; node !== 0; ) {
      const at = this.#layout.nodes + node * NODE_BYTES;
      sites.push(this.#u32(at + Node.site));
      node = this.#u32(at + Node.parent);
    }
    return sites;
  }

  #extras(at: number, stamp: number): ContextExtras {
    const liveBytes = this.#u64(at + Block.liveBytes);
    const liveBlocks = this.#u32(at + Block.liveBlocks);
    // A context that has not changed since the last peak held then what it holds now.
    const changed = this.#u32(at + Block.peakStamp) === stamp;
    return {
      liveBytes,
      liveBlocks,
      peakBytes: changed ? this.#u64(at + Block.peakBytes) : liveBytes,
      peakBlocks: changed ? this.#u32(at + Block.peakBlocks) : liveBlocks,
      neverAccessed: this.#u32(at + Block.neverAccessed),
      neverAccessedBytes: this.#u64(at + Block.neverAccessedBytes),
      writtenNeverRead: this.#u32(at + Block.neverRead),
      writtenNeverReadBytes: this.#u64(at + Block.neverReadBytes),
      granulesTouched: this.#u64(at + Block.granulesTouched),
      granules: this.#u64(at + Block.granules),
      reallocations: this.#u32(at + Block.reallocations),
      temporary: this.#u32(at + Block.temporary),
    };
  }

  #mib(at: number, allocCount: number): Mib {
    const u32 = (offset: number): number => this.#u32(at + offset);
    const u64 = (offset: number): bigint => this.#view.getBigUint64(at + offset, true);
    const mib: Mib = {
      allocCount,
      totalAccessCount: u64(Block.totalAccesses),
      minAccessCount: u64(Block.minAccesses),
      maxAccessCount: u64(Block.maxAccesses),
      totalSize: u64(Block.totalSize),
      minSize: u32(Block.minSize),
      maxSize: u32(Block.maxSize),
      allocTimestamp: u32(Block.allocTimestamp),
      deallocTimestamp: u32(Block.deallocTimestamp),
      totalLifetime: u64(Block.totalLifetime),
      minLifetime: u32(Block.minLifetime),
      maxLifetime: u32(Block.maxLifetime),
      allocCpuId: u32(Block.allocCpu),
      deallocCpuId: u32(Block.deallocCpu),
      numMigratedCpu: u32(Block.migrated),
      numLifetimeOverlaps: u32(Block.overlaps),
      numSameAllocCpu: u32(Block.sameAllocCpu),
      numSameDeallocCpu: u32(Block.sameDeallocCpu),
      dataTypeId: 0n,
      totalAccessDensity: u64(Block.totalDensity),
      minAccessDensity: u32(Block.minDensity),
      maxAccessDensity: u32(Block.maxDensity),
      totalLifetimeAccessDensity: u64(Block.totalLifetimeDensity),
      minLifetimeAccessDensity: u32(Block.minLifetimeDensity),
      maxLifetimeAccessDensity: u32(Block.maxLifetimeDensity),
      accessHistogramSize: 0,
      accessHistogram: 0n,
    };
    if (this.#exact) {
      const length = u32(Block.histogramLength);
      const buffer = u32(Block.histogram);
      mib.accessHistogramSize = length;
      mib.histogram = Array.from({ length }, (_, i) => this.#view.getBigUint64(buffer + i * 8, true));
    }
    return mib;
  }

  #endLiveBlock(
    record: number,
    address: number,
    now: number,
    instance: number,
    context: ShadowContext,
    totals: ShadowTotals,
  ): void {
    const size = this.#u32(record + Record.size);
    const first = Math.floor(address / GRANULE_BYTES);
    const last = Math.floor((address + size - 1) / GRANULE_BYTES);
    const histogram: bigint[] | undefined = this.#exact ? [] : undefined;
    let accesses = this.#u64(record + Record.folded);
    let touched = 0;
    let reads = 0;
    for (let granule = first; granule <= last; granule++) {
      const counter = this.#counters[granule];
      histogram?.push(BigInt(counter >>> 1));
      if (counter === 0) {
        if (size >= SHORTEST_MARKED_BYTES) touched += this.#isMarked(granule);
        continue;
      }
      accesses += counter >>> 1;
      touched++;
      reads |= counter;
      if (counter >>> 1 > NEARLY_FULL) totals.nearlyFullCounters++;
    }
    const { extras } = context;
    extras.granules += last - first + 1;
    extras.granulesTouched += touched;
    if (accesses === 0) {
      extras.neverAccessed++;
      extras.neverAccessedBytes += size;
    } else if ((reads & 1) === 0) {
      extras.writtenNeverRead++;
      extras.writtenNeverReadBytes += size;
    }
    this.#liveCounters += accesses - this.#u64(record + Record.folded);
    const mib = blockMib({
      accessCount: BigInt(accesses),
      size,
      allocTimestamp: this.#u32(record + Record.time),
      deallocTimestamp: now,
      allocCpuId: this.#u32(record + Record.instance),
      deallocCpuId: instance,
      histogram,
    });
    context.mib = context.mib === undefined ? mib : mergeMib(context.mib, mib);
  }

  /** 1 if a loop touched the granule but counted its accesses elsewhere in the block. */
  #isMarked(granule: number): number {
    return (this.#view.getUint8(this.#layout.marks + (granule >>> 3)) >>> (granule & 7)) & 1;
  }

  #clock(): number {
    return this.#control32(this.#wallClock ? Control.wallMs : Control.allocations);
  }

  /** Sum of all counters up to a little above the highest block, live blocks' included. */
  #sumOfCounters(): number {
    const followed = this.#control32(Control.highWater) + BEYOND_HIGHEST_BLOCK_BYTES;
    const end = Math.ceil(Math.min(followed, this.#layout.coveredBytes) / GRANULE_BYTES);
    const counters = this.#counters;
    let sum = 0;
    for (let i = 0; i < end; i++) sum += counters[i] >>> 1;
    return sum;
  }

  /** Memory of the tables and counters in use, bytes: what the profiler may have touched. */
  #profilerBytes(): number {
    const followed = this.#control32(Control.highWater);
    return (
      followed / 2 +
      followed / 4 +
      (this.#control32(Control.mibNext) + 1) * BLOCK_BYTES +
      this.#control32(Control.nodeNext) * NODE_BYTES * 2 +
      this.#control32(Control.recordNext) * RECORD_BYTES +
      this.#control32(Control.histogramNext)
    );
  }

  #totals(): ShadowTotals {
    return {
      allocations: this.#control64(Control.allocations) - this.#forgottenAllocations,
      unfollowedBytes: this.#control64(Control.unfollowedBytes),
      peakBytes: this.#control64(Control.peakBytes),
      peakBlocks: this.#control32(Control.peakBlocks),
      peakStamp: this.#control32(Control.peakStamp),
      liveBytes: this.#control64(Control.liveBytes),
      liveBlocks: this.#control32(Control.liveBlocks),
      otherAccesses: this.#control64(Control.otherAccesses),
      profilerBytes: this.#profilerBytes(),
      overflowContexts: this.#control32(Control.overflowContexts),
      overflowBlocks: this.#control32(Control.overflowBlocks),
      unfollowedFrees: this.#control32(Control.unfollowedFrees),
      unmatchedFrees: this.#control32(Control.unmatchedFrees),
      overlaps: this.#control32(Control.overlaps),
      sharedGranules: this.#control32(Control.sharedGranules),
      outside: this.#control32(Control.outside),
      misaligned: this.#control32(Control.misaligned),
      histogramsDropped: this.#control32(Control.histogramDropped),
      nearlyFullCounters: 0,
    };
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
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }
}
