import type { Mib } from "../../../../profile/model/mib.ts";
import {
  Context,
  LIVE_BLOCK_BITS,
  SHAPE_BYTES,
  SHAPE_COUNT,
  SHAPE_COUNT_BITS,
  Shape as ShapeField,
  Tag,
} from "../layout.ts";

const GRANULE_BYTES = 8;
const U32_MASK = 0xffffffffn;

/** Bytes and blocks that are live, or were. */
export interface Live {
  bytes: number;
  blocks: number;
}

/** Equal blocks that have ended, but are not in the sums of their context yet. All have one size and one density. */
export interface Shape {
  blocks: bigint;
  /** Of those, the ones that ended before another block began. */
  withoutLifetime: bigint;
  size: number;
  /** Of one block. */
  accesses: number;
  touched: number;
  /** By the program, or by a reallocation that moved the contents. */
  read: boolean;
  density: bigint;
  minLifetime: number;
  maxLifetime: number;
}

type Processors = Pick<
  Mib,
  "allocCpuId" | "deallocCpuId" | "numMigratedCpu" | "numSameAllocCpu" | "numSameDeallocCpu"
>;

/** Splits the u64 in which the shadow runtime keeps live bytes and blocks. */
export function splitLive(both: bigint): Live {
  const wrapped = BigInt.asUintN(64, both);
  const bits = BigInt(LIVE_BLOCK_BITS);
  return { bytes: Number(wrapped >> bits), blocks: Number(BigInt.asUintN(LIVE_BLOCK_BITS, wrapped)) };
}

/** The shapes of a shadow memory's table at byte `at`, by the index of their context's entry. */
export function readShapes(view: DataView, at: number): Map<number, Shape[]> {
  const byOwner = new Map<number, Shape[]>();
  for (let i = 0, entry = at; i < SHAPE_COUNT; i++, entry += SHAPE_BYTES) {
    const withLifetime = BigInt.asUintN(SHAPE_COUNT_BITS, view.getBigUint64(entry + ShapeField.count, true));
    const withoutLifetime = view.getBigUint64(entry + ShapeField.zero, true);
    if (withLifetime + withoutLifetime === 0n) continue;
    const owner = view.getUint32(entry + ShapeField.owner, true) >>> Tag.contextShift;
    const shape = readShape(view, entry, withLifetime, withoutLifetime);
    const others = byOwner.get(owner);
    if (others === undefined) byOwner.set(owner, [shape]);
    else others.push(shape);
  }
  return byOwner;
}

/** Entries of the table that have been in use. */
export function countShapes(view: DataView, at: number): number {
  let used = 0;
  for (let i = 0; i < SHAPE_COUNT; i++)
    if (view.getUint32(at + i * SHAPE_BYTES + ShapeField.owner, true) !== 0) used++;
  return used;
}

/** Forgets the blocks of all shapes. */
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

/** One calling context's entry in the block table of a shadow memory, at byte `at`, with its shapes. */
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

  /** Blocks that ended before another one began, or with the next. */
  get temporary(): number {
    return this.#shapes.reduce(
      (sum, { withoutLifetime }) => sum + Number(withoutLifetime),
      this.u32(Context.temporary),
    );
  }

  get granules(): number {
    return Number(this.#sum(Context.granules, ({ size }) => BigInt(Math.ceil(size / GRANULE_BYTES))));
  }

  get granulesTouched(): number {
    return Number(this.#sum(Context.granulesTouched, ({ touched }) => BigInt(touched)));
  }

  /**
   * The ended blocks as MemProf's block; undefined when there are none. An instance's number stands for the CPU:
   * `cpus` gives it by the number that instances which share the tables have there, or is that of the only one.
   */
  mib(cpus: number | ((local: number) => number), exact: boolean): Mib | undefined {
    const shapes = this.#shapes;
    const ended = shapes.reduce((sum, { blocks }) => sum + Number(blocks), this.u32(Context.allocCount));
    if (ended === 0) return undefined;
    // Minima are kept as their complements.
    const least = (field: number, of: (shape: Shape) => number): number =>
      shapes.reduce((known, shape) => Math.min(known, of(shape)), ~this.u32(field) >>> 0);
    const most = (field: number, of: (shape: Shape) => number): number =>
      shapes.reduce((known, shape) => Math.max(known, of(shape)), this.u32(field));
    const accesses = shapes.map((shape) => BigInt(shape.accesses));
    const leastAccesses = BigInt.asUintN(64, ~this.u64(Context.minAccesses));
    const mib: Mib = {
      allocCount: ended >>> 0,
      totalAccessCount: this.#sum(Context.totalAccesses, (shape) => BigInt(shape.accesses)),
      minAccessCount: accesses.reduce((known, count) => (count < known ? count : known), leastAccesses),
      maxAccessCount: accesses.reduce(
        (known, count) => (count > known ? count : known),
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

  /** Forgets the blocks that have ended. Those of shapes are forgotten elsewhere. */
  forget(): void {
    for (let field: number = Context.allocTimestamp; field < Context.forgottenEnd; field += 4)
      this.#view.setUint32(this.#at + field, 0, true);
    for (let field: number = Context.allocCpu; field < Context.processorsEnd; field += 4)
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
    // An instance's blocks begin and end in it.
    const same = (ended - 1) >>> 0;
    return {
      allocCpuId: cpus,
      deallocCpuId: cpus,
      numMigratedCpu: 0,
      numSameAllocCpu: same,
      numSameDeallocCpu: same,
    };
  }

  /** A sum over all ended blocks; `of` is what one block of a shape adds. */
  #sum(field: number, of: (shape: Shape) => bigint): bigint {
    const known = this.u64(field);
    return BigInt.asUintN(
      64,
      this.#shapes.reduce((sum, shape) => sum + shape.blocks * of(shape), known),
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
