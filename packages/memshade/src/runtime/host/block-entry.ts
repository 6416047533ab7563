import type { Mib } from "../../model/mib.ts";
import { Block, ExactBlock, LIVE_BLOCK_BITS } from "./shadow-offsets.ts";

const GRANULE_BYTES = 8;
const PATTERN_COUNTERS = 8;
const U32_MASK = 0xffffffffn;

/** Bytes and blocks that are live, or were. */
export interface Live {
  bytes: number;
  blocks: number;
}

/** Blocks of a context's run: they have ended, but are not in its sums yet. All have one size and one density. */
interface Run {
  blocks: number;
  size: number;
  /** Of one block. */
  accesses: number;
  touched: number;
  read: boolean;
  density: bigint;
  minLifetime: number;
  maxLifetime: number;
}

/** Splits the u64 in which the shadow runtime keeps live bytes and blocks. */
export function splitLive(both: bigint): Live {
  const wrapped = BigInt.asUintN(64, both);
  const bits = BigInt(LIVE_BLOCK_BITS);
  return { bytes: Number(wrapped >> bits), blocks: Number(BigInt.asUintN(LIVE_BLOCK_BITS, wrapped)) };
}

/** One calling context's entry in the block table of a shadow memory, at byte `at`. */
export class BlockEntry {
  readonly #view: DataView;
  readonly #at: number;
  readonly #exact: boolean;
  readonly #run: Run | undefined;

  constructor(view: DataView, at: number, exact: boolean) {
    this.#view = view;
    this.#at = at;
    this.#exact = exact;
    this.#run = exact || this.u32(Block.runCount) === 0 ? undefined : this.#readRun();
  }

  u32(field: number): number {
    return this.#view.getUint32(this.#at + field, true);
  }

  u64(field: number): bigint {
    return this.#view.getBigUint64(this.#at + field, true);
  }

  /** Blocks that have ended. */
  get ended(): number {
    return this.u32(Block.allocCount) + (this.#run?.blocks ?? 0);
  }

  get live(): Live {
    return splitLive(this.u64(Block.live) - this.#liveOfRun());
  }

  get neverAccessed(): Live {
    return this.#withRun(Block.neverAccessed, Block.neverAccessedBytes, (run) => run.accesses === 0);
  }

  get neverRead(): Live {
    return this.#withRun(Block.neverRead, Block.neverReadBytes, (run) => run.accesses !== 0 && !run.read);
  }

  get granules(): number {
    const run = this.#run;
    const ofRun = run === undefined ? 0 : run.blocks * Math.ceil(run.size / GRANULE_BYTES);
    return Number(this.u64(Block.granules)) + ofRun;
  }

  get granulesTouched(): number {
    const run = this.#run;
    return Number(this.u64(Block.granulesTouched)) + (run === undefined ? 0 : run.blocks * run.touched);
  }

  /** The ended blocks as MemProf's block; undefined when there are none. `instance` stands for the CPU. */
  mib(instance: number): Mib | undefined {
    const ended = this.ended;
    if (ended === 0) return undefined;
    const run = this.#run;
    const count = BigInt(run?.blocks ?? 0);
    const lowest = (field: number, ofRun: number | undefined): number => {
      // Minima are kept as their complements.
      const least = ~this.u32(field) >>> 0;
      return ofRun === undefined ? least : Math.min(least, ofRun);
    };
    const highest = (field: number, ofRun = 0): number => Math.max(this.u32(field), ofRun);
    const accesses = run && BigInt(run.accesses);
    const leastAccesses = BigInt.asUintN(64, ~this.u64(Block.minAccesses));
    const mostAccesses = this.u64(Block.maxAccesses);
    const density = run && Number(run.density & U32_MASK);
    const perSecond = (lifetime: number | undefined): number | undefined =>
      run && lifetime !== undefined
        ? Number(((run.density * 1000n) / BigInt(Math.max(1, lifetime))) & U32_MASK)
        : undefined;
    const mib: Mib = {
      allocCount: ended >>> 0,
      totalAccessCount: wrap64(this.u64(Block.totalAccesses) + count * (accesses ?? 0n)),
      minAccessCount: accesses !== undefined && accesses < leastAccesses ? accesses : leastAccesses,
      maxAccessCount: accesses !== undefined && accesses > mostAccesses ? accesses : mostAccesses,
      totalSize: wrap64(this.u64(Block.totalSize) + count * BigInt(run?.size ?? 0)),
      minSize: lowest(Block.minSize, run?.size),
      maxSize: highest(Block.maxSize, run?.size),
      allocTimestamp: this.u32(Block.allocTimestamp),
      deallocTimestamp: this.u32(Block.deallocTimestamp),
      totalLifetime: this.u64(Block.totalLifetime),
      minLifetime: lowest(Block.minLifetime, run?.minLifetime),
      maxLifetime: highest(Block.maxLifetime, run?.maxLifetime),
      // An instance's blocks begin and end in it.
      allocCpuId: instance,
      deallocCpuId: instance,
      numMigratedCpu: 0,
      numLifetimeOverlaps: this.u32(Block.overlaps),
      numSameAllocCpu: (ended - 1) >>> 0,
      numSameDeallocCpu: (ended - 1) >>> 0,
      dataTypeId: 0n,
      totalAccessDensity: wrap64(this.u64(Block.totalDensity) + count * (run?.density ?? 0n)),
      minAccessDensity: lowest(Block.minDensity, density),
      maxAccessDensity: highest(Block.maxDensity, density),
      totalLifetimeAccessDensity: this.u64(Block.totalLifetimeDensity),
      minLifetimeAccessDensity: lowest(Block.minLifetimeDensity, perSecond(run?.maxLifetime)),
      maxLifetimeAccessDensity: highest(Block.maxLifetimeDensity, perSecond(run?.minLifetime)),
      accessHistogramSize: 0,
      accessHistogram: 0n,
    };
    if (this.#exact) {
      const length = this.u32(ExactBlock.histogramLength);
      const buffer = this.u32(ExactBlock.histogram);
      mib.accessHistogramSize = length;
      mib.histogram = Array.from({ length }, (_, i) => this.#view.getBigUint64(buffer + i * 8, true));
    }
    return mib;
  }

  /** Forgets the blocks that have ended. */
  forget(): void {
    const live = BigInt.asUintN(64, this.u64(Block.live) - this.#liveOfRun());
    const view = this.#view;
    view.setBigUint64(this.#at + Block.live, live, true);
    for (let field: number = Block.runCount; field < Block.neverReadBytes + 8; field += 4) {
      const kept = this.#exact && (field === ExactBlock.histogram || field === ExactBlock.histogramClass);
      if (!kept) view.setUint32(this.#at + field, 0, true);
    }
  }

  #liveOfRun(): bigint {
    const run = this.#run;
    if (run === undefined) return 0n;
    return ((BigInt(run.size) << BigInt(LIVE_BLOCK_BITS)) | 1n) * BigInt(run.blocks);
  }

  #withRun(blocks: number, bytes: number, concerns: (run: Run) => boolean): Live {
    const run = this.#run;
    const added = run !== undefined && concerns(run) ? run.blocks : 0;
    return { blocks: this.u32(blocks) + added, bytes: Number(this.u64(bytes)) + added * (run?.size ?? 0) };
  }

  #readRun(): Run {
    let accesses = 0;
    let touched = 0;
    let read = 0;
    for (let i = 0; i < PATTERN_COUNTERS; i++) {
      const counter = this.u32(Block.pattern + i * 4);
      accesses += counter >>> 1;
      read |= counter & 1;
      if (counter !== 0) touched++;
    }
    return {
      blocks: this.u32(Block.runCount),
      size: this.u32(Block.runSize),
      accesses,
      touched,
      read: read !== 0,
      density: this.u64(Block.runDensity),
      minLifetime: ~this.u32(Block.runMinLifetime) >>> 0,
      maxLifetime: this.u32(Block.runMaxLifetime),
    };
  }
}

function wrap64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}
