import type { InstrumentOptions } from "../../src/record/tools/index.ts";
import type { Variant } from "./behaviour.ts";
import { IS_SEARCH } from "./seeds.ts";

const everyOwner = { firstTouch: true, fill: true, owners: true };
const SHORT = { interval: 20, maxIntervals: 8 };

const variant = (name: string, options: InstrumentOptions): Variant => ({ name, options });

/** The tools besides the heap profiler in all their modes, alone and together. */
export const TOOL_VARIANTS: readonly Variant[] = [
  variant("allocations", { tools: ["alloc"] }),
  variant("waste", { tools: ["waste"] }),
  variant("waste, few ids", { tools: ["waste"], waste: { mostIds: 3 } }),
  variant("waste by context", { tools: ["waste"], waste: { contexts: true } }),
  variant("waste by context without ids", {
    tools: ["waste"],
    waste: { contexts: true, mostIds: 0 },
  }),
  variant("pairs", { tools: ["waste"], waste: { pairs: true } }),
  variant("pairs by context", {
    tools: ["waste"],
    waste: { pairs: true, contexts: true },
  }),
  variant("lines", { tools: ["workingset"], workingset: SHORT }),
  variant("lines, one interval", { tools: ["workingset"] }),
  variant("owned lines", { tools: ["workingset"], workingset: { ...SHORT, attribution: everyOwner } }),
  variant("timed lines", { tools: ["workingset"], workingset: { unit: "wall", assumeAligned: false } }),
  variant("locality of all lines", {
    tools: ["workingset"],
    workingset: { ...SHORT, locality: { rate: 1 } },
  }),
  variant("sampled locality", {
    tools: ["workingset"],
    workingset: { interval: 100, locality: { rate: 0.25 } },
  }),
  variant("locality of a tenth", {
    tools: ["workingset"],
    workingset: { interval: 100, locality: { rate: 0.1 } },
  }),
  variant("objects", { tools: ["objects"], objects: { sampleBytes: 64 } }),
  variant("waste, lines and objects", { tools: ["waste", "workingset", "objects"], workingset: SHORT }),
  variant("waste and lines", { tools: ["waste", "workingset"], workingset: SHORT }),
  variant("waste by context and owned lines", {
    tools: ["waste", "workingset"],
    waste: { contexts: true },
    workingset: { ...SHORT, attribution: everyOwner },
  }),
  variant("pairs and locality", {
    tools: ["waste", "workingset"],
    waste: { pairs: true },
    workingset: { ...SHORT, locality: { rate: 1 } },
  }),
];

/** The same with the heap profiler, for a module whose allocator is named. Its tables are small, so they fill up soon. */
export function heapVariants(allocator: string): Variant[] {
  const small: InstrumentOptions = { allocator, maxContexts: 8, maxBlocks: 16 };
  return [
    variant("heap, usual tables", { allocator }),
    variant("heap", small),
    variant("heap by the wall clock", { ...small, clock: "wall" }),
    variant("heap and waste by context", { ...small, tools: ["heap", "waste"], waste: { contexts: true } }),
    variant("heap and objects", {
      ...small,
      tools: ["heap", "waste"],
      waste: { objects: true, contexts: true },
    }),
    variant("waste as deadstores counts", {
      ...small,
      tools: ["waste"],
      waste: { compat: "deadstores" },
    }),
    variant("heap and owned lines", {
      ...small,
      tools: ["heap", "workingset"],
      workingset: { ...SHORT, attribution: everyOwner },
    }),
    variant("all tools", { ...small, tools: ["heap", "waste", "workingset"] }),
    variant("all of everything", {
      ...small,
      exactHistogram: true,
      includeStack: true,
      includeAllocator: true,
      tools: ["heap", "waste", "workingset"],
      waste: { pairs: true, objects: true, contexts: true },
      workingset: { interval: 20, attribution: everyOwner, locality: { rate: 1 } },
    }),
  ];
}

/** A few of the variants, different for each seed; all of them in a search. */
export function some(variants: readonly Variant[], seed: number): readonly Variant[] {
  if (IS_SEARCH) return variants;
  return variants.filter((_, i) => (i + seed) % 5 === 0);
}
