import { getU64 } from "../../../../ground/bytes/numbers.ts";
import {
  addCapacity,
  addGrowth,
  type BlockCapacity,
  type BlockGrowth,
  NO_CAPACITY,
  NO_GROWTH,
} from "../../../../profile/model/growth.ts";
import { blockMib, mergeMib } from "../../../../profile/model/mib.ts";
import { addDrag, type BlockDrag, NO_DRAG } from "../../../../profile/model/over-time/drag.ts";
import { HostSite } from "../../../contexts/layout.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../options.ts";
import {
  CHANGE_BYTES,
  CONTEXT_BYTES,
  Context,
  Control,
  DRAG_BYTES,
  Drag,
  Followed,
  GROWTH_BYTES,
  Growth,
  HostEntries,
  HostNode,
  INTERVAL_BYTES,
  LARGEST_UNMARKED,
  NODE_BYTES,
  Node,
  PAST_BYTES,
  Past,
  RECORD_BYTES,
  SHAPE_BYTES,
} from "../layout.ts";
import {
  BlockEntry,
  countShapes,
  forgetIntervals,
  forgetShapes,
  type HeapSeries,
  type Live,
  readSeries,
  readShapes,
  splitLive,
} from "./block-entry.ts";
import type { ContextExtras, ShadowContext } from "./context-table.ts";
import { COUNTED_PIECE, countersOf, type GranuleCounters, type TableMemory } from "./granule-counters.ts";
import { GRANULE_BYTES, type LiveBlock, LiveBlocks } from "./live-blocks.ts";
import { NO_REACH } from "./reach/reach-sums.ts";
import { type StaticCounts, StaticReader } from "./read-statics.ts";
import { readStackTakes, type TakenStack } from "./stack-takes.ts";

const SHORTEST_MARKED_BYTES = LARGEST_UNMARKED + 1;
/** Bytes above the highest block that are searched for accesses outside of blocks. */
export const BEYOND_HIGHEST_BLOCK_BYTES = 16 * 2 ** 20;
/** Counter value that is close to the limit of 31 bits. */
const NEARLY_FULL = 2 ** 30;

const FAULT_COUNTERS = [
  Control.overflowContexts,
  Control.overflowBlocks,
  Control.unfollowedFrees,
  Control.unmatchedFrees,
  Control.unmatchedSized,
  Control.earlierFrees,
  Control.earlierSized,
  Control.overlaps,
  Control.sharedGranules,
  Control.outside,
  Control.misaligned,
  Control.nullFrees,
  Control.histogramDropped,
];

export const SHADOW_TOTALS = [
  "allocations",
  /**
   * Allocations that the program made in another thread while the tables were read. Contexts and totals are
   * then of different moments.
   */
  "meanwhile",
  /** Bytes of blocks beyond the tables' bound. */
  "unfollowedBytes",
  "peakBytes",
  "peakBlocks",
  "peakStamp",
  "liveBytes",
  "liveBlocks",
  "otherAccesses",
  "repeatedLoads",
  "filledBytes",
  "profilerBytes",
  /** Bytes from the lowest block of a module so far to the end of the highest; 0 if they are unknown. */
  "spanBytes",
  "overflowContexts",
  "overflowBlocks",
  /** Number of the `overflowBlocks` that have ended. */
  "unfollowedFrees",
  /** Releases of blocks whose allocation was not seen, and those of them that have an allocator's header. */
  "unmatchedFrees",
  "unmatchedSized",
  /**
   * Releases of blocks from the memory's initial image, those of them that have an allocator's header, and
   * the bytes of the latter.
   */
  "earlierFrees",
  "earlierSized",
  "earlierBytes",
  "overlaps",
  "sharedGranules",
  "outside",
  "misaligned",
  "histogramsDropped",
  "nearlyFullCounters",
  /** Entries of the host whose callers were requested, and entries that were left out. */
  "hostAsked",
  "hostLeftOut",
] as const;
export type ShadowTotals = Record<(typeof SHADOW_TOTALS)[number], number>;

/** Totals that are words of the control block. */
const CONTROL_TOTALS = [
  "overflowContexts",
  "overflowBlocks",
  "unfollowedFrees",
  "unmatchedFrees",
  "unmatchedSized",
  "earlierFrees",
  "earlierSized",
  "overlaps",
  "sharedGranules",
  "outside",
  "misaligned",
] as const;

export interface ShadowContents {
  totals: ShadowTotals;
  contexts: ShadowContext[];
  series: HeapSeries | undefined;
  statics?: StaticCounts | undefined;
  /** Bytes of the program's stack that the host has taken; undefined if they are not recorded. */
  takenStack?: TakenStack | undefined;
}

export interface IndexedContext extends ShadowContext {
  index: number;
}

export function callPath(view: DataView, root: number, leaf: number): number[] {
  const sites: number[] = [];
  for (let at = leaf; at !== root; at = view.getUint32(at + Node.parent, true))
    sites.push(view.getUint32(at + Node.site, true));
  return sites;
}

/** Reads the shadow tables of one instance. Changes nothing, so it may run while the program does. */
export class ShadowReader {
  readonly #layout: ShadowLayout;
  readonly #buffer: ArrayBufferLike;
  readonly #view: DataView;
  readonly #counters: GranuleCounters;
  readonly #exact: boolean;
  readonly #wallClock: boolean;
  readonly #counted: boolean;
  readonly #statics: StaticReader | undefined;
  readonly blocks: LiveBlocks;
  /** Numbers of the instances that share the tables, by their numbers there. */
  readonly #numbers = new Map<number, number>();
  /** Allocations before a reset whose blocks have ended by now. */
  #forgottenAllocations = 0;
  /** Accesses before a reset that are still in counters outside of live blocks. */
  #forgottenAccesses = 0;
  #liveCounters = 0;
  /** True after a reset: blocks from before it have a part in the span. */
  #isReset = false;

  constructor(
    memory: TableMemory,
    layout: ShadowLayout,
    { clock, counters, tools, statics }: Pick<InstrumentedInfo, "clock" | "counters" | "tools" | "statics">,
  ) {
    this.#wallClock = clock === "wall";
    this.#layout = layout;
    this.#exact = counters === "exact";
    this.#counted = !tools.includes("alloc");
    this.#buffer = memory.buffer;
    this.#view = new DataView(this.#buffer);
    this.#counters = countersOf(memory, layout.slots);
    this.blocks = new LiveBlocks(memory, layout, this.#numbers);
    if (statics !== undefined) this.#statics = new StaticReader(this.#buffer, layout, statics);
  }

  /**
   * Watches for counters of static data that overflow. Must be called a few times a second while the program
   * runs in another thread.
   */
  watch(isLate: boolean): void {
    this.#statics?.watch(isLate);
  }

  /** Reads all figures; live blocks count as if they ended now. */
  read(): ShadowContents & { contexts: IndexedContext[] } {
    this.#liveCounters = 0;
    const before = this.#control64(Control.allocations);
    const contexts = this.readContexts();
    const byIndex = new Map(contexts.map((context) => [context.index, context]));
    const totals = this.#totals();
    const { now } = this;
    for (const block of this.blocks) {
      const context = byIndex.get(block.context);
      if (context !== undefined) this.#endLiveBlock(block, now, context, totals);
    }
    const statics = this.#statics?.read();
    totals.otherAccesses += this.#sumOfCounters() - this.#liveCounters - this.#forgottenAccesses;
    totals.otherAccesses += statics?.beyondCounters ?? 0;
    // Counters may have changed between the two sums.
    if (totals.otherAccesses < 0) totals.otherAccesses = 0;
    const series = this.readSeries();
    totals.meanwhile = this.#control64(Control.allocations) - before;
    const { stackTakes } = this.#layout;
    const takenStack = stackTakes && readStackTakes(this.#view, stackTakes);
    return { totals, contexts, series, statics, takenStack };
  }

  readSeries(): HeapSeries | undefined {
    return readSeries(this.#view, this.#layout, (context) =>
      this.#sitesOf(this.#u32(this.#layout.mibs + context * CONTEXT_BYTES + Context.node)),
    );
  }

  /**
   * Sets the instance's number, which is the CPU of its blocks, including those of its start function.
   * `local`: its number among those that share the tables.
   */
  setInstance(number: number, local?: number): void {
    if (local !== undefined) this.#numbers.set(local, number);
    this.#view.setUint32(this.#layout.control + Control.instance, number, true);
  }

  /** Clears all ended blocks and the peak. Not to be called while the program runs in another thread. */
  forgetEnded(): void {
    const { control, mibs, growths, drags } = this.#layout;
    const view = this.#view;
    const count = this.#control32(Control.mibNext);
    for (let index = 0; index <= count; index++)
      new BlockEntry(view, mibs + index * CONTEXT_BYTES, []).forget();
    for (let at = growths; at < growths + (count + 1) * GROWTH_BYTES; at += 4) view.setUint32(at, 0, true);
    for (let at = drags; at < drags + (count + 1) * DRAG_BYTES; at += 4) view.setUint32(at, 0, true);
    forgetShapes(view, this.#layout.shapes);
    for (const field of FAULT_COUNTERS) view.setUint32(control + field, 0, true);
    if (this.#layout.hostEntries !== undefined)
      for (const field of [HostEntries.asked, HostEntries.leftOut])
        view.setUint32(this.#layout.hostEntries + field, 0, true);
    for (const field of [Control.otherAccesses, Control.repeatedLoads, Control.filledBytes])
      view.setBigUint64(control + field, 0n, true);
    view.setBigUint64(control + Control.unfollowedBytes, 0n, true);
    view.setBigUint64(control + Control.earlierBytes, 0n, true);
    const live = view.getBigUint64(control + Control.live, true);
    view.setBigUint64(control + Control.peak, live, true);
    const stamp = this.#control32(Control.stamp) + 1;
    view.setUint32(control + Control.stamp, stamp, true);
    view.setUint32(control + Control.peakStamp, stamp, true);
    forgetIntervals(view, this.#layout);
    this.#statics?.forget();
    this.#isReset = true;
    this.#forgottenAccesses = 0;
    this.#forgottenAccesses = this.read().totals.otherAccesses;
    this.#forgottenAllocations = this.#control64(Control.allocations) - this.#live().blocks;
  }

  /** Returns the contexts with their ended blocks, in the order in which they were first seen. */
  readContexts(): IndexedContext[] {
    const contexts: IndexedContext[] = [];
    const peak = this.#peak();
    const cpus =
      this.#layout.stackCount === 1
        ? this.#control32(Control.instance)
        : (local: number): number => this.#numbers.get(local) ?? local;
    const shapes = readShapes(this.#view, this.#layout.shapes);
    const count = this.#control32(Control.mibNext);
    for (let index = 0; index <= count; index++) {
      const at = this.#layout.mibs + index * CONTEXT_BYTES;
      const entry = new BlockEntry(this.#view, at, shapes.get(index) ?? []);
      const extras = extrasOf(entry, this.#liveAtPeak(index, entry, peak.stamp), {
        entries: 0,
        ...readGrowth(this.#view, this.#layout.growths + index * GROWTH_BYTES),
        drag: readDrag(this.#view, this.#layout.drags + index * DRAG_BYTES),
      });
      const mib = entry.mib(cpus, this.#exact);
      if (mib === undefined && extras.liveBlocks === 0 && extras.peakBytes === 0) continue;
      // Entry 0 has no node. Free entries, whose node field is no node, were skipped above.
      if (index !== 0) extras.entries = this.#entriesOf(entry.u32(Context.node));
      contexts.push({
        index,
        sites: index === 0 ? [] : this.#sitesOf(entry.u32(Context.node)),
        mib,
        peakStamp: peak.stamp,
        extras,
      });
    }
    return contexts;
  }

  #sitesOf(leaf: number): number[] {
    return callPath(this.#view, this.#layout.nodes, leaf);
  }

  /** Returns the number of entries of the innermost node that stands for the host. */
  #entriesOf(leaf: number): number {
    let at = leaf;
    while (at !== this.#layout.nodes && this.#u32(at + Node.site) < HostSite.unsettled)
      at = this.#u32(at + Node.parent);
    return at === this.#layout.nodes ? 0 : this.#u32(at + HostNode.entries);
  }

  /** True if blocks were allocated after the last look at the counters. */
  get allocatedSinceLook(): boolean {
    return this.#control64(Control.lookedAllocations) !== this.#control64(Control.allocations);
  }

  /**
   * Returns the accesses that looks found after the newest allocation, plus those since the last look to
   * static data and to a stack below it.
   */
  accessesAfterAllocations(): number {
    const end = Math.min(this.#statics?.endBytes ?? 0, this.#layout.coveredBytes);
    const accesses = this.blocks.accessesIn(0, Math.floor(end / GRANULE_BYTES));
    const accessesAtLook = this.#u64(this.#layout.followed + Followed.accesses);
    const foundSince = this.#control64(Control.accesses) - this.#control64(Control.accessesThen);
    return foundSince + Math.max(0, accesses - accessesAtLook);
  }

  /** Time from which on blocks are late: the second half of the run. */
  get late(): number {
    return Math.floor(this.now / 2) + 1;
  }

  get hasSeveralInstances(): boolean {
    return this.#layout.stackCount > 1 && this.#control32(Control.instances) > 1;
  }

  /** True if a live block found no room in the tables. */
  get hasUnfollowedBlocks(): boolean {
    return this.#control32(Control.overflowBlocks) > this.#control32(Control.unfollowedFrees);
  }

  #endLiveBlock(block: LiveBlock, now: number, context: ShadowContext, totals: ShadowTotals): void {
    const { address, size, time, folded, instance } = block;
    const first = Math.floor(address / GRANULE_BYTES);
    const last = Math.floor((address + size - 1) / GRANULE_BYTES);
    const histogram: bigint[] | undefined = this.#exact ? [] : undefined;
    let accesses = folded;
    let touched = 0;
    let reads = 0;
    let lastTouched = first - 1;
    const mayBeMarked = size >= SHORTEST_MARKED_BYTES && this.#layout.native === undefined;
    const end = this.#counted ? last + 1 : first;
    for (let piece = first; piece < end; piece += COUNTED_PIECE) {
      const counters = this.#counters.read(piece, Math.min(end, piece + COUNTED_PIECE));
      for (let i = 0; i < counters.length; i++) {
        const counter = counters[i];
        histogram?.push(BigInt(counter >>> 1));
        if (counter === 0 && !(mayBeMarked && this.#isMarked(piece + i))) continue;
        accesses += counter >>> 1;
        touched++;
        lastTouched = piece + i;
        reads |= counter;
        if (counter >>> 1 > NEARLY_FULL) totals.nearlyFullCounters++;
      }
    }
    const { extras } = context;
    extras.granules += last - first + 1;
    extras.granulesTouched += touched;
    if (accesses === 0) {
      extras.neverAccessed++;
      extras.neverAccessedBytes += size;
    } else if ((reads & 1) === 0 && !block.wentOn) {
      extras.writtenNeverRead++;
      extras.writtenNeverReadBytes += size;
    }
    if (block.followed > 0) extras.drag = addDrag(extras.drag, this.blocks.dragOf(block, now, accesses));
    const used = Math.min(size, Math.max(0, (lastTouched + 1) * GRANULE_BYTES - address));
    this.#endLiveChain(block, this.#counted ? Math.max(used, block.carried) : size, extras);
    this.#liveCounters += accesses - folded;
    const mib = blockMib({
      accessCount: BigInt(accesses),
      size,
      allocTimestamp: time,
      deallocTimestamp: now,
      allocCpuId: instance,
      deallocCpuId: instance,
      histogram,
    });
    context.mib = context.mib === undefined ? mib : mergeMib(context.mib, mib);
  }

  /** Does what the runtime's `endChain` does. */
  #endLiveChain(
    { size, wentOn, copies, steps, copiedBytes }: LiveBlock,
    used: number,
    extras: ContextExtras,
  ): void {
    if (wentOn) return;
    if (copies > 0)
      extras.growth = addGrowth(extras.growth, {
        chains: 1,
        copies,
        copiedBytes,
        mostCopies: copies,
        finalBytes: size,
        usedBytes: used,
        largestFinal: size,
      });
    if (steps > 0)
      extras.growth = addGrowth(extras.growth, {
        ...NO_GROWTH,
        steppedChains: 1,
        steps,
        steppedBytes: used,
      });
    if (this.#counted && size >= SHORTEST_MARKED_BYTES && used > 0)
      extras.capacity = addCapacity(extras.capacity, { blocks: 1, bytes: size, unusedBytes: size - used });
  }

  /** Returns 1 if a loop touched the granule but counted its accesses elsewhere in the block. */
  #isMarked(granule: number): boolean {
    return ((this.#view.getUint8(this.#layout.marks + (granule >>> 3)) >>> (granule & 7)) & 1) !== 0;
  }

  /**
   * Returns the live amount of a context at the peak. If it has not changed since, that is its current
   * amount.
   */
  #liveAtPeak(index: number, entry: BlockEntry, stamp: number): Live {
    if (entry.u32(Context.stamp) < stamp) return entry.live;
    return splitLive(this.#view.getBigUint64(this.#layout.pasts + index * PAST_BYTES + Past.peak, true));
  }

  get now(): number {
    return this.#control32(this.#wallClock ? Control.wallMs : Control.allocations);
  }

  /** Sums all counters up to a little above the highest block, including those of live blocks. */
  #sumOfCounters(): number {
    if (!this.#counted) return 0;
    // A native program has too many counters to read. Accesses outside of blocks are found when the next
    // block begins there.
    if (this.#layout.native !== undefined) return this.#liveCounters;
    const followed = this.#control32(Control.highWater) + BEYOND_HIGHEST_BLOCK_BYTES;
    const endBytes = Math.max(followed, this.#statics?.endBytes ?? 0);
    const end = Math.ceil(Math.min(endBytes, this.#layout.coveredBytes) / GRANULE_BYTES);
    return this.blocks.accessesIn(0, end);
  }

  /** Returns the bytes of the tables and counters that the profiler may have touched. */
  #profilerBytes(): number {
    const followed = this.#control32(Control.highWater);
    return (
      (this.#counted ? followed / 2 : 0) +
      this.#control32(Control.slotsNext) +
      countShapes(this.#view, this.#layout.shapes) * SHAPE_BYTES +
      (this.#control32(Control.mibNext) + 1) * (CONTEXT_BYTES + PAST_BYTES) +
      this.#control32(Control.intervals) * INTERVAL_BYTES +
      this.#control32(Control.changes) * CHANGE_BYTES +
      this.#control32(Control.nodeNext) * NODE_BYTES * 2 +
      this.#control32(Control.recordNext) * RECORD_BYTES +
      this.#control32(Control.histogramNext)
    );
  }

  #spanBytes(): number {
    const lowest = this.#layout.native === undefined && !this.#isReset ? this.blocks.lowest() : undefined;
    return lowest === undefined ? 0 : Math.max(0, this.#control32(Control.highWater) - lowest);
  }

  #live(): Live {
    return splitLive(this.#view.getBigUint64(this.#layout.control + Control.live, true));
  }

  /**
   * Returns the peak and its stamp. If no block was released since the peak, it is the current live amount.
   */
  #peak(): Live & { stamp: number } {
    const live = this.#live();
    const peak = splitLive(this.#view.getBigUint64(this.#layout.control + Control.peak, true));
    return live.bytes > peak.bytes
      ? { ...live, stamp: this.#control32(Control.stamp) + 1 }
      : { ...peak, stamp: this.#control32(Control.peakStamp) };
  }

  #totals(): ShadowTotals {
    const live = this.#live();
    const peak = this.#peak();
    const words = CONTROL_TOTALS.map((name) => [name, this.#control32(Control[name])]);
    return {
      ...(Object.fromEntries(words) as Record<(typeof CONTROL_TOTALS)[number], number>),
      allocations: this.#control64(Control.allocations) - this.#forgottenAllocations,
      meanwhile: 0,
      unfollowedBytes: this.#control64(Control.unfollowedBytes),
      peakBytes: peak.bytes,
      peakBlocks: peak.blocks,
      peakStamp: peak.stamp,
      liveBytes: live.bytes,
      liveBlocks: live.blocks,
      otherAccesses: this.#control64(Control.otherAccesses),
      repeatedLoads: this.#control64(Control.repeatedLoads),
      filledBytes: this.#control64(Control.filledBytes),
      profilerBytes: this.#profilerBytes(),
      spanBytes: this.#spanBytes(),
      earlierBytes: this.#control64(Control.earlierBytes),
      histogramsDropped: this.#control32(Control.histogramDropped),
      nearlyFullCounters: 0,
      hostAsked: this.#hostEntries(HostEntries.asked),
      hostLeftOut: this.#hostEntries(HostEntries.leftOut),
    };
  }

  #hostEntries(field: number): number {
    const { hostEntries } = this.#layout;
    return hostEntries === undefined ? 0 : this.#u32(hostEntries + field);
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

function extrasOf(
  entry: BlockEntry,
  peak: Live,
  parts: Pick<ContextExtras, "entries" | "growth" | "capacity" | "drag">,
): ContextExtras {
  const live = entry.live;
  const { neverAccessed, neverRead } = entry;
  return {
    ...NO_REACH,
    liveBytes: live.bytes,
    liveBlocks: live.blocks,
    peakBytes: peak.bytes,
    peakBlocks: peak.blocks,
    neverAccessed: neverAccessed.blocks,
    neverAccessedBytes: neverAccessed.bytes,
    writtenNeverRead: neverRead.blocks,
    writtenNeverReadBytes: neverRead.bytes,
    granulesTouched: entry.granulesTouched,
    granules: entry.granules,
    reallocations: entry.u32(Context.reallocations),
    temporary: entry.temporary,
    collected: entry.collected,
    ...parts,
  };
}

function readDrag(view: DataView, at: number): BlockDrag {
  const followed = view.getUint32(at + Drag.followed, true);
  if (followed === 0) return NO_DRAG;
  const u64 = (field: number): number => getU64(view, at + field);
  return {
    followed,
    blocks: u64(Drag.blocks),
    bytes: u64(Drag.bytes),
    byteTime: u64(Drag.byteTime),
    draggedByteTime: u64(Drag.dragged),
    lateBlocks: u64(Drag.lateBlocks),
    lateBytes: u64(Drag.lateBytes),
    byteWork: view.getFloat64(at + Drag.byteWork, true),
    lateByteWork: view.getFloat64(at + Drag.lateByteWork, true),
    lateUsedByteWork: view.getFloat64(at + Drag.lateUsedByteWork, true),
    lateLastUse: u64(Drag.lateLastUse),
    lateFollowed: view.getUint32(at + Drag.lateFollowed, true),
  };
}

/**
 * Reads the growth and capacity of a context's ended blocks from its entry at byte `at` of a shadow memory.
 */
function readGrowth(view: DataView, at: number): { growth: BlockGrowth; capacity: BlockCapacity } {
  const u32 = (field: number): number => view.getUint32(at + field, true);
  const u64 = (field: number): number => getU64(view, at + field);
  const [chains, steps, blocks] = [u32(Growth.chains), u32(Growth.steps), u32(Growth.endedBlocks)];
  // Most contexts have neither, so their objects are shared.
  const growth =
    chains === 0 && steps === 0
      ? NO_GROWTH
      : {
          chains,
          copies: u32(Growth.copies),
          copiedBytes: u64(Growth.copiedBytes),
          mostCopies: u32(Growth.mostCopies),
          finalBytes: u64(Growth.finalBytes),
          usedBytes: u64(Growth.usedBytes),
          largestFinal: u32(Growth.largestFinal),
          ...(steps > 0 && {
            steppedChains: u32(Growth.steppedChains),
            steps,
            steppedBytes: u64(Growth.steppedBytes),
          }),
        };
  const capacity =
    blocks === 0
      ? NO_CAPACITY
      : { blocks, bytes: u64(Growth.endedBytes), unusedBytes: u64(Growth.unusedBytes) };
  return { growth, capacity };
}
