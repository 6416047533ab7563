/**
 * MemProf's allocation block ("MIB", MemInfoBlock): the figures of all blocks of one allocation context. Field names,
 * widths and update rules are those of the MemProf raw format, so that a MIB converts to and from a raw file without
 * loss.
 *
 * Fields stored as u32 are numbers, fields stored as u64 are bigints. Averages are not stored: an average is `total… /
 * allocCount`. Times are in the unit of the profile's clock (milliseconds in a profile made by clang). Densities are
 * scaled by 100.
 */
export interface Mib {
  /** Allocated blocks. */
  allocCount: number;
  /** Loads, stores and atomics in the blocks: sum, least and most of a block. Ranges count one access per 8 bytes. */
  totalAccessCount: bigint;
  minAccessCount: bigint;
  maxAccessCount: bigint;
  /** Requested bytes: sum, least and most of a block. */
  totalSize: bigint;
  minSize: number;
  maxSize: number;
  /** Allocation time of the block that was freed last. */
  allocTimestamp: number;
  /** Deallocation time of the block that was freed last. */
  deallocTimestamp: number;
  /** Time from allocation to deallocation: sum, least and most. A live block counts as freed at the end. */
  totalLifetime: bigint;
  minLifetime: number;
  maxLifetime: number;
  /** Instance or worker (native: CPU) that allocated the block that was freed last. */
  allocCpuId: number;
  /** Instance or worker (native: CPU) that freed the block that was freed last. */
  deallocCpuId: number;
  /** 1 if the first block was freed by another instance, worker or CPU than allocated it; contexts add up. */
  numMigratedCpu: number;
  /** Blocks allocated before the block merged just before them was freed. */
  numLifetimeOverlaps: number;
  /** Blocks that were allocated, or freed, by the same instance, worker or CPU as the block before. */
  numSameAllocCpu: number;
  numSameDeallocCpu: number;
  /** Always 0 today. */
  dataTypeId: bigint;
  /** Accesses per byte, times 100, of each block: sum, least and most. */
  totalAccessDensity: bigint;
  minAccessDensity: number;
  maxAccessDensity: number;
  /** Accesses per byte and per 1000 clock units, times 100, of each block: sum, least and most. */
  totalLifetimeAccessDensity: bigint;
  minLifetimeAccessDensity: number;
  maxLifetimeAccessDensity: number;
  /** Entries of the access histogram; 0 without one. */
  accessHistogramSize: number;
  /** Stale pointer of the profiled process, kept as read; written as 0. */
  accessHistogram: bigint;
  /** Accesses per 8-byte granule, granule 0 first. */
  histogram?: bigint[];
}

/** Block at its deallocation, or at a dump while it is still live. */
export interface Block {
  accessCount: bigint;
  /** Requested bytes; 0 is recorded as 1, and only the low 32 bits are kept. */
  size: number;
  allocTimestamp: number;
  deallocTimestamp: number;
  allocCpuId: number;
  deallocCpuId: number;
  /** Counts in histogram mode: `ceil(size / 8)` entries. */
  histogram?: readonly bigint[] | undefined;
}

/**
 * Returns the MIB of a single block. All divisions round down; arithmetic wraps at MemProf's widths (u32 for sizes,
 * times and lifetimes, u64 for counts and densities before they are truncated).
 */
export function blockMib(block: Block): Mib {
  const accesses = wrapU64(block.accessCount);
  const size = wrapU32(block.size === 0 ? 1 : block.size);
  const allocTimestamp = wrapU32(block.allocTimestamp);
  const deallocTimestamp = wrapU32(block.deallocTimestamp);
  const allocCpuId = wrapU32(block.allocCpuId);
  const deallocCpuId = wrapU32(block.deallocCpuId);
  const lifetime = wrapU32(deallocTimestamp - allocTimestamp);
  // A block of a multiple of 4 GiB has the 32-bit size 0, which must not be the divisor.
  const density = wrapU64(accesses * 100n) / BigInt(size || 1);
  const lifetimeDensity = wrapU64(density * 1000n) / BigInt(lifetime || 1);
  const mib: Mib = {
    allocCount: 1,
    totalAccessCount: accesses,
    minAccessCount: accesses,
    maxAccessCount: accesses,
    totalSize: BigInt(size),
    minSize: size,
    maxSize: size,
    allocTimestamp,
    deallocTimestamp,
    totalLifetime: BigInt(lifetime),
    minLifetime: lifetime,
    maxLifetime: lifetime,
    allocCpuId,
    deallocCpuId,
    numMigratedCpu: allocCpuId === deallocCpuId ? 0 : 1,
    numLifetimeOverlaps: 0,
    numSameAllocCpu: 0,
    numSameDeallocCpu: 0,
    dataTypeId: 0n,
    totalAccessDensity: density,
    minAccessDensity: truncateToU32(density),
    maxAccessDensity: truncateToU32(density),
    totalLifetimeAccessDensity: lifetimeDensity,
    minLifetimeAccessDensity: truncateToU32(lifetimeDensity),
    maxLifetimeAccessDensity: truncateToU32(lifetimeDensity),
    accessHistogramSize: block.histogram?.length ?? 0,
    accessHistogram: 0n,
  };
  if (block.histogram !== undefined) mib.histogram = block.histogram.map(wrapU64);
  return mib;
}

/**
 * Merges `later` into `accumulated`, which is changed and returned. This is MemProf's rule for adding one more block to
 * a context, and readers also apply it to the dumps of one process. Blocks come in order of deallocation.
 *
 * The rule compares `later` with the block merged just before it, so `later`'s own overlap, same-CPU and migration
 * counters are ignored. Use {@link combineMibs} for blocks of different processes.
 */
export function mergeMib(accumulated: Mib, later: Mib): Mib {
  addTotalsAndExtremes(accumulated, later);
  const a = accumulated;
  if (later.allocTimestamp < a.deallocTimestamp) a.numLifetimeOverlaps = wrapU32(a.numLifetimeOverlaps + 1);
  if (later.allocCpuId === a.allocCpuId) a.numSameAllocCpu = wrapU32(a.numSameAllocCpu + 1);
  if (later.deallocCpuId === a.deallocCpuId) a.numSameDeallocCpu = wrapU32(a.numSameDeallocCpu + 1);
  setLast(a, later);
  return a;
}

/**
 * Returns the MIB of both arguments' blocks, for blocks of different processes or of contexts shown as one. Sums,
 * minima and maxima are as in {@link mergeMib}; the overlap, same-CPU and migration counters are added. Timestamps and
 * CPU numbers are those of `b`.
 *
 * The operation is associative, and commutative except for those four "last" fields. The arguments are unchanged.
 */
export function combineMibs(a: Mib, b: Mib): Mib {
  const result = copyMib(a);
  addTotalsAndExtremes(result, b);
  result.numMigratedCpu = wrapU32(a.numMigratedCpu + b.numMigratedCpu);
  result.numLifetimeOverlaps = wrapU32(a.numLifetimeOverlaps + b.numLifetimeOverlaps);
  result.numSameAllocCpu = wrapU32(a.numSameAllocCpu + b.numSameAllocCpu);
  result.numSameDeallocCpu = wrapU32(a.numSameDeallocCpu + b.numSameDeallocCpu);
  result.accessHistogram = 0n;
  setLast(result, b);
  return result;
}

/** Returns a copy that shares nothing with `mib`. */
export function copyMib(mib: Mib): Mib {
  return mib.histogram === undefined ? { ...mib } : { ...mib, histogram: [...mib.histogram] };
}

function addTotalsAndExtremes(a: Mib, b: Mib): void {
  a.allocCount = wrapU32(a.allocCount + b.allocCount);
  a.totalAccessCount = wrapU64(a.totalAccessCount + b.totalAccessCount);
  a.minAccessCount = a.minAccessCount < b.minAccessCount ? a.minAccessCount : b.minAccessCount;
  a.maxAccessCount = a.maxAccessCount > b.maxAccessCount ? a.maxAccessCount : b.maxAccessCount;
  a.totalSize = wrapU64(a.totalSize + b.totalSize);
  a.minSize = Math.min(a.minSize, b.minSize);
  a.maxSize = Math.max(a.maxSize, b.maxSize);
  a.totalLifetime = wrapU64(a.totalLifetime + b.totalLifetime);
  a.minLifetime = Math.min(a.minLifetime, b.minLifetime);
  a.maxLifetime = Math.max(a.maxLifetime, b.maxLifetime);
  a.totalAccessDensity = wrapU64(a.totalAccessDensity + b.totalAccessDensity);
  a.minAccessDensity = Math.min(a.minAccessDensity, b.minAccessDensity);
  a.maxAccessDensity = Math.max(a.maxAccessDensity, b.maxAccessDensity);
  a.totalLifetimeAccessDensity = wrapU64(a.totalLifetimeAccessDensity + b.totalLifetimeAccessDensity);
  a.minLifetimeAccessDensity = Math.min(a.minLifetimeAccessDensity, b.minLifetimeAccessDensity);
  a.maxLifetimeAccessDensity = Math.max(a.maxLifetimeAccessDensity, b.maxLifetimeAccessDensity);
  addHistogram(a, b);
}

/** Keeps the longer histogram and adds the shorter one to it, entry by entry from entry 0. */
function addHistogram(a: Mib, b: Mib): void {
  if (b.histogram === undefined) return;
  const sum = a.histogram ?? [];
  b.histogram.forEach((count, granule) => {
    sum[granule] = wrapU64((sum[granule] ?? 0n) + count);
  });
  a.histogram = sum;
  a.accessHistogramSize = sum.length;
}

function setLast(a: Mib, later: Mib): void {
  a.allocTimestamp = later.allocTimestamp;
  a.deallocTimestamp = later.deallocTimestamp;
  a.allocCpuId = later.allocCpuId;
  a.deallocCpuId = later.deallocCpuId;
}

function wrapU32(value: number): number {
  return value >>> 0;
}

function wrapU64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function truncateToU32(value: bigint): number {
  return Number(BigInt.asUintN(32, value));
}
