import { boundList } from "./bound.ts";
import {
  type Check,
  count,
  flag,
  integer,
  list,
  misfit,
  nullable,
  number,
  oneOf,
  optional,
  parseVersioned,
  record,
  settings,
  text,
  textLike,
} from "./check.ts";
import type { BlockCollection } from "./collection.ts";
import type { BlockCapacity, BlockGrowth } from "./growth.ts";
import type { BlockDrag } from "./over-time/drag.ts";
import { REACH_FIELDS } from "./reach-fields.ts";
import {
  type AllocatorMemory,
  type Clock,
  type HeapReach,
  type HeapTool,
  MEASURED_SCHEMA,
  MEASURED_VERSION,
  type Measured,
  type Presence,
  type ProcessCost,
  type ProcessMemory,
  RUN_SCHEMA,
  RUN_VERSION,
  type Run,
  type RunAllocator,
  type RunChild,
  type RunEnd,
  type RunFunction,
  type RunHeap,
  type RunHost,
  type RunHostFrame,
  type RunInstances,
  type RunModule,
  type RunPlace,
  type RunPlaceFrame,
  type RunSite,
  type RunStackTakes,
  type RunThreads,
} from "./run.ts";

const clock: Check<Clock> = record<Clock>({ kind: oneOf("virtual", "wall"), unit: text });

const heapTool = record<HeapTool>({
  clock,
  counters: oneOf("merged", "exact", "none"),
  granuleBytes: count,
  includeStack: flag,
  includeAllocator: flag,
  mappings: optional(flag),
  knownHost: optional(flag),
});

const end = record<RunEnd>({
  kind: oneOf("exit", "trap", "exception", "signal", "dump", "ended"),
  exitCode: optional(integer),
  signal: optional(text),
  message: optional(text),
  isLater: optional(flag),
});

const allocator = record<RunAllocator>({
  how: oneOf("names", "exports", "glue", "wrapper", "structure", "option", "none"),
  confirmed: optional(nullable(flag)),
  functions: list(record({ role: text, index: count, name: optional(text) })),
  refused: optional(text),
  doubtful: optional(flag),
  further: optional(list(text)),
  layers: optional(list(count)),
});

const presence = record<Omit<Presence, keyof Measured>>({
  modules: count,
  shadow: count,
  recorded: count,
  limit: optional(count),
});

const processCost = record<ProcessCost>({
  peakBytes: count,
  processorMs: count,
  rewritingMs: count,
  profileMs: count,
  profilerAlone: optional(flag),
});

const processMemory = record<{ memory: ProcessMemory }>({
  memory: record<ProcessMemory>({
    residentBytes: count,
    peakBytes: count,
    allocator: optional(record<AllocatorMemory>({ heldBytes: count, freeBytes: count, topBytes: count })),
  }),
});

const place = record<RunPlace>({
  offset: count,
  frames: list(
    record<RunPlaceFrame>({
      function: optional(text),
      file: optional(text),
      line: optional(count),
      column: optional(count),
      startLine: optional(count),
      handsOutMemory: optional(flag),
      approximate: optional(flag),
    }),
  ),
});

const hostFrame = record<RunHostFrame>({
  name: text,
  file: optional(text),
  line: optional(count),
  column: optional(count),
  async: optional(flag),
  source: optional(
    record<NonNullable<RunHostFrame["source"]>>({
      file: text,
      line: count,
      column: count,
      name: optional(text),
    }),
  ),
  glue: optional(text),
  is: optional(oneOf("left-out", "unknown")),
});

const instancesBy = record<RunInstances>({
  frames: list(hostFrame),
  thread: count,
  made: count,
  kept: count,
  keptBytes: count,
});

const stackTakes = record<RunStackTakes>({
  function: optional(text),
  frames: list(hostFrame),
  calls: count,
  bytes: count,
  stackBytes: count,
});

const module = record<RunModule>({
  index: count,
  name: text,
  path: optional(nullable(text)),
  script: optional(text),
  buildId: textLike(/^([0-9a-f]{2})*$/, "hexadecimal digits"),
  bytes: count,
  codeBytes: count,
  instances: count,
  exports: optional(list(text)),
  start: textLike(/^0x[0-9a-f]{1,16}$/, "a hexadecimal address"),
  object: optional(
    record<NonNullable<RunModule["object"]>>({
      kind: oneOf("elf"),
      address: count,
      isUncounted: optional(flag),
    }),
  ),
  allocator,
  functions: list(record<RunFunction>({ index: integer, name: optional(text), offset: count, end: count })),
  places: optional(list(place)),
  instancesBy: optional(list(instancesBy)),
  stackTakes: optional(list(stackTakes)),
  notRecorded: optional(settings as Check<Record<string, string>>),
  notTracked: list(text),
});

const reach = record<HeapReach>({
  lostBytes: count,
  lostBlocks: count,
  indirectlyLostBytes: count,
  indirectlyLostBlocks: count,
  possiblyLostBytes: count,
  possiblyLostBlocks: count,
  stillReachableBytes: count,
  stillReachableBlocks: count,
  accessesAfter: optional(count),
  hostMayHold: flag,
});

const growth = record<BlockGrowth>({
  chains: count,
  copies: count,
  copiedBytes: count,
  mostCopies: count,
  finalBytes: count,
  usedBytes: count,
  largestFinal: count,
  steppedChains: optional(count),
  steps: optional(count),
  steppedBytes: optional(count),
});

const capacity = record<BlockCapacity>({ blocks: count, bytes: count, unusedBytes: count });

/** Checks a product of bytes and time, which may exceed the safe integers. */
const byteTime: Check<number> = (value) =>
  number(value) >= 0 ? (value as number) : misfit("should not be negative");

const drag = record<BlockDrag>({
  followed: count,
  blocks: count,
  bytes: count,
  byteTime,
  draggedByteTime: byteTime,
  lateBlocks: count,
  lateBytes: count,
  byteWork: byteTime,
  lateByteWork: byteTime,
  lateUsedByteWork: byteTime,
  lateLastUse: byteTime,
  lateFollowed: count,
});

const collection = record<BlockCollection>({ blocks: count, bytes: count, lifetime: byteTime });

const reachOfSite = Object.fromEntries(REACH_FIELDS.map((field) => [field, optional(count)])) as Record<
  (typeof REACH_FIELDS)[number],
  ReturnType<typeof optional<number>>
>;

const site = record<RunSite>({
  stackId: textLike(/^[0-9]{1,20}$/, "a decimal number in quotes"),
  liveBytes: count,
  liveBlocks: count,
  peakBytes: count,
  peakBlocks: count,
  neverAccessed: count,
  neverAccessedBytes: count,
  writtenNeverRead: count,
  writtenNeverReadBytes: count,
  granulesTouched: count,
  granules: count,
  reallocations: count,
  temporary: optional(count),
  stage: optional(count),
  entries: optional(count),
  ...reachOfSite,
  growth: optional(growth),
  capacity: optional(capacity),
  keptAfterUse: optional(drag),
  collected: optional(collection),
});

const host = record<RunHost>({
  mode: oneOf("sampled", "exact"),
  start: textLike(/^0x[0-9a-f]{1,16}$/, "a hexadecimal address"),
  asked: count,
  leftOut: count,
  frames: list(hostFrame),
});

const heap = record<RunHeap>({
  allocations: count,
  allocatedBytes: count,
  frees: count,
  peakBytes: count,
  peakBlocks: count,
  liveBytes: count,
  liveBlocks: count,
  heapAccesses: count,
  otherAccesses: count,
  staticAccesses: optional(count),
  profilerBytes: count,
  overflow: record<RunHeap["overflow"]>({ contexts: count, blocks: count }),
  reach: optional(reach),
  growth: optional(growth),
  capacity: optional(capacity),
  keptAfterUse: optional(drag),
  threads: optional(
    list(record<RunThreads>({ name: text, threads: count, allocations: count, allocatedBytes: count })),
  ),
  notTracked: optional(list(text)),
  sites: list(site),
});

const run = record<Run>({
  schema: oneOf(RUN_SCHEMA),
  version: oneOf(RUN_VERSION),
  memshade: text,
  command: list(text),
  program: text,
  tools: record<Run["tools"]>({
    heap: optional(heapTool),
    waste: optional(settings),
    workingset: optional(settings),
    objects: optional(settings),
    cpu: optional(settings),
  }),
  end,
  modules: list(module),
  heap: optional(heap),
  host: optional(host),
  children: optional(
    list(
      record<RunChild>({
        program: text,
        command: list(text),
        allocations: optional(count),
        allocatedBytes: optional(count),
      }),
    ),
  ),
  notTracked: list(text),
  bounds: optional(boundList),
  presence: optional(presence),
  files: record<Run["files"]>({
    heap: optional(text),
    heapIntervals: optional(text),
    waste: optional(text),
    workingset: optional(text),
    objects: optional(text),
    cpu: optional(text),
    statics: optional(text),
    measured: optional(text),
  }),
});

/**
 * Reads the text of a `run.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readRun(json: string): Run {
  return run(parseVersioned(json, RUN_SCHEMA, RUN_VERSION, "does not describe a memshade run"));
}

/**
 * Reads the text of a `measured.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readMeasured(json: string): Measured {
  const predicate = "does not say what a run took";
  const measured = parseVersioned(json, MEASURED_SCHEMA, MEASURED_VERSION, predicate);
  if (typeof measured === "object" && measured !== null && "memory" in measured)
    return { memory: processMemory(measured).memory };
  const { peakBytes, processorMs, rewritingMs, profileMs, profilerAlone } = processCost(measured);
  return { process: { peakBytes, processorMs, rewritingMs, profileMs, profilerAlone } };
}
