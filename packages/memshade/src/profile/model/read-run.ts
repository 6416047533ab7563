import { boundList } from "./bound.ts";
import {
  type Check,
  count,
  each,
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
  REACH_FIELDS,
  RUN_SCHEMA,
  RUN_VERSIONS,
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
import { withRows } from "./run-text.ts";

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
  ...each(count, "modules", "shadow", "recorded"),
  limit: optional(count),
});

const processCost = record<ProcessCost>({
  ...each(count, "peakBytes", "processorMs", "rewritingMs", "profileMs"),
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
      ...each(optional(count), "line", "column", "startLine"),
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
  ...each(count, "thread", "made", "kept", "keptBytes"),
});

const stackTakes = record<RunStackTakes>({
  function: optional(text),
  frames: list(hostFrame),
  ...each(count, "calls", "bytes", "stackBytes"),
});

const module = record<RunModule>({
  ...each(count, "index", "bytes", "codeBytes", "instances"),
  name: text,
  path: optional(nullable(text)),
  script: optional(text),
  buildId: textLike(/^([0-9a-f]{2})*$/, "hexadecimal digits"),
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
  ...each(count, "lostBytes", "lostBlocks", "indirectlyLostBytes", "indirectlyLostBlocks"),
  ...each(count, "possiblyLostBytes", "possiblyLostBlocks", "stillReachableBytes", "stillReachableBlocks"),
  accessesAfter: optional(count),
  hostMayHold: flag,
});

const growth = record<BlockGrowth>({
  ...each(count, "chains", "copies", "copiedBytes", "mostCopies", "finalBytes", "usedBytes", "largestFinal"),
  ...each(optional(count), "steppedChains", "steps", "steppedBytes"),
});

const capacity = record<BlockCapacity>({ blocks: count, bytes: count, unusedBytes: count });

/** Checks a product of bytes and time, which may exceed the safe integers. */
const byteTime: Check<number> = (value) =>
  number(value) >= 0 ? (value as number) : misfit("should not be negative");

const drag = record<BlockDrag>({
  ...each(count, "followed", "blocks", "bytes", "lateBlocks", "lateBytes", "lateFollowed"),
  byteTime,
  ...each(byteTime, "draggedByteTime", "byteWork", "lateByteWork", "lateUsedByteWork", "lateLastUse"),
});

const collection = record<BlockCollection>({ blocks: count, bytes: count, lifetime: byteTime });

const reachOfSite = Object.fromEntries(REACH_FIELDS.map((field) => [field, optional(count)])) as Record<
  (typeof REACH_FIELDS)[number],
  ReturnType<typeof optional<number>>
>;

const site = record<RunSite>({
  stackId: textLike(/^[0-9]{1,20}$/, "a decimal number in quotes"),
  ...each(count, "liveBytes", "liveBlocks", "peakBytes", "peakBlocks", "neverAccessed", "neverAccessedBytes"),
  ...each(count, "writtenNeverRead", "writtenNeverReadBytes", "granulesTouched", "granules", "reallocations"),
  ...each(optional(count), "temporary", "stage", "entries"),
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
  ...each(count, "allocations", "allocatedBytes", "frees", "peakBytes", "peakBlocks", "liveBytes"),
  ...each(count, "liveBlocks", "heapAccesses", "otherAccesses", "profilerBytes"),
  staticAccesses: optional(count),
  spanBytes: optional(count),
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
  version: oneOf(...RUN_VERSIONS),
  memshade: text,
  command: list(text),
  program: text,
  tools: record<Run["tools"]>({
    heap: optional(heapTool),
    ...each(optional(settings), "waste", "workingset", "objects", "cpu"),
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
    ...each(
      optional(text),
      "heap",
      "heapIntervals",
      "waste",
      "workingset",
      "objects",
      "cpu",
      "statics",
      "retainers",
    ),
    ...each(optional(text), "measured"),
  }),
});

/**
 * Reads the text of a `run.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readRun(json: string): Run {
  return run(withRows(parseVersioned(json, RUN_SCHEMA, RUN_VERSIONS, "does not describe a memshade run")));
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
