import { entryOf } from "../../../../ground/bytes/entries.ts";
import { type BlockCollection, NO_COLLECTION } from "../../../../profile/model/collection.ts";
import type { Mib } from "../../../../profile/model/mib.ts";
import type { ShadowLayout } from "../../options.ts";
import {
  CHANGE_BYTES,
  Change,
  CONTEXT_BYTES,
  Context,
  Control,
  INTERVAL_BYTES,
  Interval,
  LIVE_BLOCK_BITS,
  PAST_BYTES,
  Past,
  SHAPE_BYTES,
  SHAPE_COUNT,
  SHAPE_COUNT_BITS,
  Shape as ShapeField,
  Tag,
} from "../layout.ts";
import { PathMap } from "./context-table.ts";

const GRANULE_BYTES = 8;
const U32_MASK = 0xffffffffn;

export interface Live {
  bytes: number;
  blocks: number;
}

/**
 * Equal blocks that have ended but are not in the sums of their context yet. All have one size and one
 * density.
 */
export interface Shape {
  blocks: bigint;
  /** Blocks among these that ended before another block began. */
  withoutLifetime: bigint;
  size: number;
  accesses: number;
  touched: number;
  /** True if they were read by the program, or by a reallocation that moved the contents. */
  read: boolean;
  density: bigint;
  minLifetime: number;
  maxLifetime: number;
}

type Processors = Pick<
  Mib,
  "allocCpuId" | "deallocCpuId" | "numMigratedCpu" | "numSameAllocCpu" | "numSameDeallocCpu"
>;

/** Splits the u64 in which the shadow runtime stores live bytes and blocks. */
export function splitLive(packed: bigint): Live {
  const wrapped = BigInt.asUintN(64, packed);
  const bits = BigInt(LIVE_BLOCK_BITS);
  return { bytes: Number(wrapped >> bits), blocks: Number(BigInt.asUintN(LIVE_BLOCK_BITS, wrapped)) };
}

/** Reads the shapes of the table at byte `at` of a shadow memory, by the index of their context's entry. */
export function readShapes(view: DataView, at: number): Map<number, Shape[]> {
  const byOwner = new Map<number, Shape[]>();
  for (let i = 0, entry = at; i < SHAPE_COUNT; i++, entry += SHAPE_BYTES) {
    const withLifetime = BigInt.asUintN(SHAPE_COUNT_BITS, view.getBigUint64(entry + ShapeField.count, true));
    const withoutLifetime = view.getBigUint64(entry + ShapeField.zero, true);
    if (withLifetime + withoutLifetime === 0n) continue;
    const owner = view.getUint32(entry + ShapeField.owner, true) >>> Tag.contextShift;
    const shape = readShape(view, entry, withLifetime, withoutLifetime);
    const ownerShapes = byOwner.get(owner);
    if (ownerShapes === undefined) byOwner.set(owner, [shape]);
    else ownerShapes.push(shape);
  }
  return byOwner;
}

export function countShapes(view: DataView, at: number): number {
  let used = 0;
  for (let i = 0; i < SHAPE_COUNT; i++)
    if (view.getUint32(at + i * SHAPE_BYTES + ShapeField.owner, true) !== 0) used++;
  return used;
}

export function forgetShapes(view: DataView, at: number): void {
  for (let i = 0, entry = at; i < SHAPE_COUNT; i++, entry += SHAPE_BYTES)
    for (let field: number = ShapeField.count; field < ShapeField.pattern; field += 4)
      view.setUint32(entry + field, 0, true);
}

function readShape(view: DataView, at: number, withLifetime: bigint, withoutLifetime: bigint): Shape {
  const u32 = (field: number): number => view.getUint32(at + field, true);
  const owner = u32(ShapeField.owner);
  const size = (owner >>> Tag.sizeShift) & Tag.sizeMask;
  let accesses = 0;
  let touched = 0;
  let flags = 0;
  for (let i = 0; i < Math.ceil(size / GRANULE_BYTES); i++) {
    const counter = u32(ShapeField.pattern + i * 4);
    accesses += counter >>> 1;
    flags |= counter;
    if (counter !== 0) touched++;
  }
  const shortest = u32(ShapeField.minLifetime);
  return {
    blocks: withLifetime + withoutLifetime,
    withoutLifetime,
    size,
    accesses,
    touched,
    read: (flags & 1) === 1 || (owner & 1) === 0,
    density: BigInt(u32(ShapeField.density) / 1000),
    minLifetime: withoutLifetime === 0n ? shortest : 0,
    maxLifetime: withLifetime === 0n ? 0 : shortest + u32(ShapeField.span),
  };
}

export class BlockEntry {
  readonly #view: DataView;
  readonly #at: number;
  readonly #shapes: readonly Shape[];

  constructor(view: DataView, at: number, shapes: readonly Shape[]) {
    this.#view = view;
    this.#at = at;
    this.#shapes = shapes;
  }

  u32(field: number): number {
    return this.#view.getUint32(this.#at + field, true);
  }

  u64(field: number): bigint {
    return this.#view.getBigUint64(this.#at + field, true);
  }

  get live(): Live {
    return splitLive(this.u64(Context.allocated) - this.u64(Context.freed));
  }

  get neverAccessed(): Live {
    const concerns = ({ accesses, read }: Shape): boolean => accesses === 0 && !read;
    return this.#withShapes(Context.neverAccessed, Context.neverAccessedBytes, concerns);
  }

  get neverRead(): Live {
    const concerns = ({ accesses, read }: Shape): boolean => accesses !== 0 && !read;
    return this.#withShapes(Context.neverRead, Context.neverReadBytes, concerns);
  }

  get temporary(): number {
    return this.#shapes.reduce(
      (sum, { withoutLifetime }) => sum + Number(withoutLifetime),
      this.u32(Context.temporary),
    );
  }

  get collected(): BlockCollection {
    const blocks = this.u32(Context.collectedBlocks);
    if (blocks === 0) return NO_COLLECTION;
    return {
      blocks,
      bytes: Number(this.u64(Context.collectedBytes)),
      lifetime: Number(this.u64(Context.collectedLifetime)),
    };
  }

  get granules(): number {
    return Number(this.#sum(Context.granules, ({ size }) => BigInt(Math.ceil(size / GRANULE_BYTES))));
  }

  get granulesTouched(): number {
    return Number(this.#sum(Context.granulesTouched, ({ touched }) => BigInt(touched)));
  }

  /**
   * Returns the ended blocks as MemProf's block; undefined if there are none. An instance's number is used as
   * the CPU.
   * `cpus`: maps the number that an instance has among those that share the tables to its CPU, or is the CPU
   * of the only instance.
   */
  mib(cpus: number | ((local: number) => number), exact: boolean): Mib | undefined {
    const shapes = this.#shapes;
    const ended = shapes.reduce((sum, { blocks }) => sum + Number(blocks), this.u32(Context.allocCount));
    if (ended === 0) return undefined;
    // Minima are stored as their complements.
    const least = (field: number, figureOf: (shape: Shape) => number): number =>
      shapes.reduce((smallest, shape) => Math.min(smallest, figureOf(shape)), ~this.u32(field) >>> 0);
    const most = (field: number, figureOf: (shape: Shape) => number): number =>
      shapes.reduce((largest, shape) => Math.max(largest, figureOf(shape)), this.u32(field));
    const accesses = shapes.map((shape) => BigInt(shape.accesses));
    const leastAccesses = BigInt.asUintN(64, ~this.u64(Context.minAccesses));
    const mib: Mib = {
      allocCount: ended >>> 0,
      totalAccessCount: this.#sum(Context.totalAccesses, (shape) => BigInt(shape.accesses)),
      minAccessCount: accesses.reduce(
        (smallest, count) => (count < smallest ? count : smallest),
        leastAccesses,
      ),
      maxAccessCount: accesses.reduce(
        (largest, count) => (count > largest ? count : largest),
        this.u64(Context.maxAccesses),
      ),
      totalSize: this.#sum(Context.totalSize, ({ size }) => BigInt(size)),
      minSize: least(Context.minSize, ({ size }) => size),
      maxSize: most(Context.maxSize, ({ size }) => size),
      allocTimestamp: this.u32(Context.allocTimestamp),
      deallocTimestamp: this.u32(Context.deallocTimestamp),
      totalLifetime: this.u64(Context.totalLifetime),
      minLifetime: least(Context.minLifetime, ({ minLifetime }) => minLifetime),
      maxLifetime: most(Context.maxLifetime, ({ maxLifetime }) => maxLifetime),
      ...this.#processors(cpus, ended),
      numLifetimeOverlaps: this.u32(Context.overlaps),
      dataTypeId: 0n,
      totalAccessDensity: this.#sum(Context.totalDensity, ({ density }) => density),
      minAccessDensity: least(Context.minDensity, ({ density }) => Number(density & U32_MASK)),
      maxAccessDensity: most(Context.maxDensity, ({ density }) => Number(density & U32_MASK)),
      totalLifetimeAccessDensity: this.#shapes.reduce(
        (sum, { withoutLifetime, density }) => BigInt.asUintN(64, sum + withoutLifetime * density * 1000n),
        this.u64(Context.totalLifetimeDensity),
      ),
      minLifetimeAccessDensity: least(Context.minLifetimeDensity, (shape) =>
        lifetimeDensity(shape, shape.maxLifetime),
      ),
      maxLifetimeAccessDensity: most(Context.maxLifetimeDensity, (shape) =>
        lifetimeDensity(shape, shape.minLifetime),
      ),
      accessHistogramSize: 0,
      accessHistogram: 0n,
    };
    if (exact) {
      const length = this.u32(Context.histogramLength);
      const buffer = this.u32(Context.histogram);
      mib.accessHistogramSize = length;
      mib.histogram = Array.from({ length }, (_, i) => this.#view.getBigUint64(buffer + i * 8, true));
    }
    return mib;
  }

  /** Clears the ended blocks, except those of shapes (see `forgetShapes`). */
  forget(): void {
    for (let field: number = Context.allocTimestamp; field < Context.forgottenEnd; field += 4)
      this.#view.setUint32(this.#at + field, 0, true);
    for (let field: number = Context.allocCpu; field < Context.processorsEnd; field += 4)
      this.#view.setUint32(this.#at + field, 0, true);
    for (let field: number = Context.collectedBytes; field < Context.collectedEnd; field += 4)
      this.#view.setUint32(this.#at + field, 0, true);
  }

  #processors(cpus: number | ((local: number) => number), ended: number): Processors {
    if (typeof cpus === "function")
      return {
        allocCpuId: cpus(this.u32(Context.allocCpu)),
        deallocCpuId: cpus(this.u32(Context.deallocCpu)),
        numMigratedCpu: this.u32(Context.migrated),
        numSameAllocCpu: this.u32(Context.sameAllocCpu),
        numSameDeallocCpu: this.u32(Context.sameDeallocCpu),
      };
    // All blocks of an instance begin and end in it.
    const same = (ended - 1) >>> 0;
    return {
      allocCpuId: cpus,
      deallocCpuId: cpus,
      numMigratedCpu: 0,
      numSameAllocCpu: same,
      numSameDeallocCpu: same,
    };
  }

  #sum(field: number, figureOf: (shape: Shape) => bigint): bigint {
    const initial = this.u64(field);
    return BigInt.asUintN(
      64,
      this.#shapes.reduce((sum, shape) => sum + shape.blocks * figureOf(shape), initial),
    );
  }

  #withShapes(blocks: number, bytes: number, concerns: (shape: Shape) => boolean): Live {
    const live = { blocks: this.u32(blocks), bytes: Number(this.u64(bytes)) };
    for (const shape of this.#shapes)
      if (concerns(shape)) {
        live.blocks += Number(shape.blocks);
        live.bytes += Number(shape.blocks) * shape.size;
      }
    return live;
  }
}

function lifetimeDensity({ density }: Shape, lifetime: number): number {
  return Number(((density * 1000n) / BigInt(Math.max(1, lifetime))) & U32_MASK);
}

/** Interval of the heap: allocations `start` + 1 to `end`. */
export interface SeriesInterval {
  start: number;
  end: number;
  live: Live;
  max: Live;
  /** Call path of the next allocation; undefined if there is none or it is unknown. */
  next: readonly number[] | undefined;
}

export interface SeriesChange {
  at: number;
  allocations: number;
  allocatedBytes: number;
  frees: number;
  freedBytes: number;
}

export interface HeapSeries {
  /** Allocations of a full interval. */
  period: number;
  intervals: SeriesInterval[];
  lastIsPartial: boolean;
  changes: PathMap<{ readonly sites: readonly number[]; readonly changes: SeriesChange[] }>;
}

/** Most attempts to read the tables while the program changes them. */
const TRIES = 100;

/**
 * Reads the heap over time; the open interval is treated as if it ended now. Undefined if nothing was
 * allocated, or the program changes the tables all the time.
 *
 * @param sitesOf returns the call path of a context by its index; undefined for none
 */
export function readSeries(
  view: DataView,
  layout: ShadowLayout,
  sitesOf: (context: number) => readonly number[] | undefined,
): HeapSeries | undefined {
  for (let i = 0; i < TRIES; i++) {
    const turn = view.getUint32(layout.control + Control.intervalTurn, true);
    if (turn % 2 === 1) continue;
    const series = new SeriesReader(view, layout, sitesOf).read();
    if (view.getUint32(layout.control + Control.intervalTurn, true) === turn) return series;
  }
  return undefined;
}

class SeriesReader {
  readonly #view: DataView;
  readonly #layout: ShadowLayout;
  readonly #sitesOf: (context: number) => readonly number[] | undefined;
  readonly #byContext = new Map<number, SeriesChange[]>();
  readonly #changes: HeapSeries["changes"] = new PathMap();

  constructor(
    view: DataView,
    layout: ShadowLayout,
    sitesOf: (context: number) => readonly number[] | undefined,
  ) {
    this.#view = view;
    this.#layout = layout;
    this.#sitesOf = sitesOf;
  }

  read(): HeapSeries | undefined {
    const { control } = this.#layout;
    const from = this.#u64(control + Control.intervalsFrom);
    const now = this.#u64(control + Control.allocations);
    if (this.#u64(control + Control.deadline) === 0) return undefined;
    const count = this.#u32(control + Control.intervals);
    const intervals: SeriesInterval[] = [];
    let start = from;
    let change = 0;
    for (let i = 0; i < count; i++) {
      const at = this.#layout.intervals + i * INTERVAL_BYTES;
      const changesEnd = this.#u32(at + Interval.changesEnd);
      for (; change < changesEnd; change++) this.#addChange(change, start, false);
      const next = this.#u32(at + Interval.next);
      intervals.push({
        start,
        end: this.#u64(at + Interval.end),
        live: this.#live(at + Interval.live),
        max: this.#live(at + Interval.peak),
        next: next === 0 ? undefined : this.#sitesOf(next),
      });
      start = intervals[i].end;
    }
    const changes = this.#u32(control + Control.changes);
    const isOpen = now > start || changes > change || count === 0;
    for (; change < changes; change++) this.#addChange(change, start, true);
    if (isOpen) {
      const live = this.#live(control + Control.live);
      const before = this.#live(control + Control.intervalPeak);
      const max = before.bytes >= live.bytes ? before : live;
      intervals.push({ start, end: now, live, max, next: undefined });
    }
    const period = 2 ** this.#u32(control + Control.intervalScale);
    return { period, intervals, lastIsPartial: isOpen && now - start < period, changes: this.#changes };
  }

  #addChange(index: number, at: number, isOpen: boolean): void {
    const entry = this.#layout.changes + index * CHANGE_BYTES;
    const context = this.#u32(entry + Change.context);
    const changes = this.#changesOf(context);
    if (changes === undefined) return;
    const open = isOpen ? this.#unsettled(context) : NOTHING;
    changes.push({
      at,
      allocations: this.#u32(entry + Change.allocations) + open.allocated.blocks,
      allocatedBytes: this.#u64(entry + Change.allocatedBytes) + open.allocated.bytes,
      frees: this.#u32(entry + Change.frees) + open.freed.blocks,
      freedBytes: this.#u64(entry + Change.freedBytes) + open.freed.bytes,
    });
  }

  /** Returns the list for the changes of a context, and caches its path. */
  #changesOf(context: number): SeriesChange[] | undefined {
    const cached = this.#byContext.get(context);
    if (cached !== undefined) return cached;
    const sites = context === 0 ? [] : this.#sitesOf(context);
    if (sites === undefined) return undefined;
    const { changes } = entryOf(this.#changes, sites, () => ({ sites, changes: [] }));
    this.#byContext.set(context, changes);
    return changes;
  }

  /** Returns the work of a context since the changes were added up last. */
  #unsettled(context: number): { allocated: Live; freed: Live } {
    const entry = this.#layout.mibs + context * CONTEXT_BYTES;
    const past = this.#layout.pasts + context * PAST_BYTES;
    const since = (field: number, before: number): Live =>
      splitLive(this.#view.getBigUint64(entry + field, true) - this.#view.getBigUint64(past + before, true));
    return {
      allocated: since(Context.allocated, Past.allocated),
      freed: since(Context.freed, Past.freed),
    };
  }

  #live(at: number): Live {
    return splitLive(this.#view.getBigUint64(at, true));
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  #u64(at: number): number {
    return this.#u32(at) + this.#u32(at + 4) * 2 ** 32;
  }
}

const NOTHING = { allocated: { bytes: 0, blocks: 0 }, freed: { bytes: 0, blocks: 0 } };

/** Starts the first interval now. Not to be called while the program runs in another thread. */
export function forgetIntervals(view: DataView, { control }: ShadowLayout): void {
  const now = view.getBigUint64(control + Control.allocations, true);
  const live = view.getBigUint64(control + Control.live, true);
  const stamp = view.getUint32(control + Control.stamp, true) + 1;
  view.setUint32(control + Control.stamp, stamp, true);
  view.setUint32(control + Control.intervalStamp, stamp, true);
  view.setBigUint64(control + Control.intervalPeak, live, true);
  view.setBigUint64(control + Control.peakLimit, live | BigInt(2 ** LIVE_BLOCK_BITS - 1), true);
  view.setBigUint64(control + Control.intervalsFrom, now, true);
  view.setBigUint64(control + Control.intervalWork, 0n, true);
  // The next allocation then ends the first interval.
  view.setBigUint64(control + Control.deadline, now + 1n, true);
  view.setUint32(control + Control.limit, 0, true);
  for (const field of [Control.intervalScale, Control.intervals, Control.changes, Control.openChanges])
    view.setUint32(control + field, 0, true);
}

/**
 * Adds earlier flushed data of an instance: changes of contexts, which belong to the interval that contains
 * their clock value, and the call paths after intervals.
 */
export function withHistory(series: HeapSeries, history: readonly HeapSeries[]): HeapSeries {
  const nexts = new Map(history.flatMap(({ intervals }) => intervals.map(({ end, next }) => [end, next])));
  for (const { sites, changes } of history.flatMap((earlier) => [...earlier.changes.values()]))
    entryOf(series.changes, sites, () => ({ sites, changes: [] })).changes.push(...changes);
  for (const interval of series.intervals) interval.next ??= nexts.get(interval.end);
  return series;
}
