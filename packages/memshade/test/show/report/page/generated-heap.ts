import {
  type HeapProfile,
  type MibColumns,
  type ResolvedFrame,
  SITE_FIELDS,
  type SiteColumns,
} from "../../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../../src/profile/model/heap-profile-builder.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import type { ContextHeap, InstanceHeap } from "../../../../src/profile/model/over-time/heap-intervals.ts";
import { random } from "./made-up-page.ts";

/** Contexts whose doings over time a recording keeps. */
const OVER_TIME = 256;

/** The heap of a run that never was: so many calling contexts, their numbers as unequal as those of real ones. */
export function generatedHeap(contexts: number, intervals: number, seed = 1): HeapProfile {
  const next = random(seed);
  const below = (bound: number) => Math.floor(next() * bound);
  const functions = Math.max(16, Math.ceil(Math.sqrt(contexts)));
  const frames = Array.from({ length: 4 * functions }, (_, index) => {
    const of = index >> 2;
    const file = `src/part${of % 97}.cpp`;
    return {
      module: 0,
      wasmIndex: of,
      name: `part${of % 97}::work${of}(int)`,
      offset: 64 * index,
      file,
      line: 10 + index,
    } as unknown as ResolvedFrame;
  });
  const builder = new HeapProfileBuilder(
    {
      clock: { kind: "virtual", unit: "allocations" },
      counters: "merged",
      knownHost: true,
      granuleBytes: 8,
      rawVersion: 5,
      program: "generated",
      end: { kind: "exit", exitCode: 0 },
      notTracked: [],
    },
    [{ name: "generated.wasm", buildId: "", start: 0n, end: 2n ** 32n }],
    4 * contexts,
  );
  const stacks: number[] = [];
  for (let context = 0; context < contexts; context++) {
    // Most go on from a path that is there already, and few from near the root.
    const caller = stacks.length === 0 || next() < 0.002 ? 0 : stacks[below(stacks.length)]!;
    let stack = caller;
    do stack = builder.child(stack, frames[below(frames.length)]!);
    while (stack < stacks.length / 2 && next() < 0.5);
    stacks.push(stack);
    builder.addStack(BigInt(context + 1), stack);
  }
  const unequal = () => Math.ceil(1000 / (1 + 999 * next()));
  const blocks = Uint32Array.from({ length: contexts }, unequal);
  const sizes = Uint32Array.from({ length: contexts }, () => 8 * (1 + below(64)));
  const mibs = Object.fromEntries(
    MIB_FIELDS.map(({ name, bytes }) => [
      name,
      bytes === 4 ? new Uint32Array(contexts) : new BigUint64Array(contexts),
    ]),
  ) as unknown as Record<string, Uint32Array | BigUint64Array>;
  mibs.allocCount = blocks;
  mibs.minSize = sizes;
  mibs.maxSize = sizes;
  mibs.totalSize = BigUint64Array.from(blocks, (count, row) => BigInt(count * sizes[row]!));
  mibs.totalAccessCount = BigUint64Array.from(blocks, (count) => BigInt(count * below(200)));
  mibs.maxAccessCount = mibs.totalAccessCount;
  mibs.totalLifetime = BigUint64Array.from(blocks, (count) => BigInt(count * below(5000)));
  const built = builder.build({ ...mibs, histogram: [] } as unknown as MibColumns);
  const sums = (value: (row: number) => number) =>
    Float64Array.from({ length: contexts }, (_, row) => value(row));
  const site = {
    ...Object.fromEntries(SITE_FIELDS.map((field) => [field, new Float64Array(contexts)])),
    temporary: sums((row) => (next() < 0.2 ? below(blocks[row]! + 1) : 0)),
    growth: [],
    capacity: [],
    keptAfterUse: [],
  } as unknown as { -readonly [Field in keyof SiteColumns]: SiteColumns[Field] };
  site.peakBlocks = sums((row) => (next() < 0.4 ? below(blocks[row]! + 1) : 0));
  site.peakBytes = site.peakBlocks.map((count, row) => count * sizes[row]!);
  site.liveBlocks = sums((row) => (next() < 0.05 ? below(blocks[row]! + 1) : 0));
  site.liveBytes = site.liveBlocks.map((count, row) => count * sizes[row]!);
  const sum = (column: Float64Array) => column.reduce((total, value) => total + value, 0);
  const profile: HeapProfile = {
    ...built,
    description: {
      ...built.description,
      recordedBy: "0.0.0",
      totals: {
        allocations: blocks.reduce((total, value) => total + value, 0),
        frees: 0,
        allocatedBytes: Number(
          (mibs.totalSize as BigUint64Array).reduce((total, value) => total + value, 0n),
        ),
        peakBytes: sum(site.peakBytes),
        peakBlocks: sum(site.peakBlocks),
        liveBytes: sum(site.liveBytes),
        liveBlocks: sum(site.liveBlocks),
        heapAccesses: Number(
          (mibs.totalAccessCount as BigUint64Array).reduce((total, value) => total + value, 0n),
        ),
        otherAccesses: 0,
        staticAccesses: 0,
        profilerBytes: 0,
        overflow: { contexts: 0, blocks: 0 },
      } as unknown as NonNullable<HeapProfile["description"]["totals"]>,
    },
    contexts: { ...built.contexts, site },
  };
  if (intervals === 0) return profile;
  const overTime = {
    schema: "memshade-heap-intervals",
    version: 1,
    memshade: "0.0.0",
    unit: "allocations",
  } as const;
  return {
    ...profile,
    overTime: { ...overTime, instances: [overTimeOf(contexts, intervals, next)], otherInstances: 0 },
  };
}

function overTimeOf(contexts: number, intervals: number, next: () => number): InstanceHeap {
  const below = (bound: number) => Math.floor(next() * bound);
  const count = Math.min(contexts, OVER_TIME);
  const live = new Array<number>(intervals).fill(0);
  const rows = Array.from({ length: count }, (_, context): ContextHeap => {
    const own = Array.from({ length: intervals }, (_, interval) => interval).filter(() => next() < 0.4);
    const allocations = own.map(() => 1 + below(50));
    const allocatedBytes = allocations.map((blocks) => 48 * blocks);
    const frees = allocations.map((blocks) => below(blocks + 1));
    const freedBytes = frees.map((blocks) => 48 * blocks);
    let bytes = 0;
    for (let interval = 0, row = 0; interval < intervals; interval++) {
      for (; own[row] === interval; row++) bytes += allocatedBytes[row]! - freedBytes[row]!;
      live[interval]! += bytes;
    }
    const stackId = `${1 + context * Math.floor(contexts / count)}`;
    return {
      stackId,
      startBytes: 0,
      startBlocks: 0,
      intervals: own,
      allocations,
      allocatedBytes,
      frees,
      freedBytes,
    };
  });
  const zeros = new Array<number>(intervals).fill(0);
  const starts = Array.from({ length: intervals }, (_, interval) => 1000 * interval);
  return {
    module: 0,
    instance: 0,
    period: 1000,
    startBytes: 0,
    startBlocks: 0,
    lastIsPartial: false,
    intervals: {
      start: starts,
      end: starts.map((start) => start + 1000),
      liveBytes: live,
      liveBlocks: live.map((bytes) => bytes / 48),
      maxBytes: live,
      maxBlocks: zeros,
      allocatedBytes: zeros,
      freedBytes: zeros,
      frees: zeros,
      next: zeros.map(() => "0"),
    },
    contexts: rows,
    otherContexts: contexts - count,
  };
}
