import type { InstrumentOptions } from "../../src/record/tools/index.ts";

const OWNERS = { firstTouch: true, fill: true, owners: true };
/** Short intervals and small tables, so that entries are often flushed, merged and dropped. */
const SHORT = { interval: 20, maxIntervals: 8 };
const SMALL = { maxContexts: 8, maxBlocks: 16 };

/** The tools in all their modes, alone and together. */
export const SETTINGS: Readonly<Record<string, InstrumentOptions>> = {
  alloc: { tools: ["alloc"], ...SMALL },
  heap: { tools: ["heap"] },
  "heap, exact and of everything": {
    tools: ["heap"],
    ...SMALL,
    exactHistogram: true,
    includeStack: true,
    includeAllocator: true,
  },
  waste: { tools: ["waste"] },
  "waste --contexts": { tools: ["waste"], waste: { contexts: true } },
  "waste --pairs": { tools: ["waste"], waste: { pairs: true } },
  "waste --compat": { tools: ["waste"], waste: { compat: "deadstores" } },
  workingset: { tools: ["workingset"], workingset: SHORT },
  "workingset --who": { tools: ["workingset"], workingset: { ...SHORT, attribution: OWNERS } },
  "workingset --locality": {
    tools: ["workingset"],
    workingset: { ...SHORT, locality: { rate: 1 } },
  },
  objects: { tools: ["objects"], objects: { sampleBytes: 64 } },
  "objects, allocations alone": {
    tools: ["objects"],
    objects: { fields: false, contexts: false, sampleBytes: 0 },
  },
  "heap and objects": { tools: ["heap", "objects"], ...SMALL, objects: { sampleBytes: 1, references: 8 } },
  "all tools": { tools: ["heap", "waste", "workingset"], ...SMALL, workingset: SHORT },
  "all tools in all ways": {
    tools: ["heap", "waste", "workingset", "objects"],
    ...SMALL,
    clock: "wall",
    waste: { pairs: true, objects: true, contexts: true },
    workingset: { ...SHORT, attribution: OWNERS, locality: { rate: 1 } },
  },
};
