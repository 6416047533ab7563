import type { HeapProfile } from "../../model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoFrameTable, NONE } from "../../model/indices.ts";
import { siteStackOfContext } from "../../model/site-frame.ts";
import { framesOfStack } from "../../model/stacks.ts";
import { MODULE_SPAN } from "../../model/waste/waste.ts";
import { ambiguousFunctions } from "../ambiguous-functions.ts";
import { functionNumber } from "../frames/frame-name.ts";
import type { ContextGroups } from "../groups.ts";
import { METRICS, type MetricKey, measureGroups } from "../metrics.ts";
import { StackCollector, type StackFrame, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

const HEADS = {
  ...{ bytes: "BYTES", peak: "PEAK", live: "LEFT", lost: "LOST", count: "BLOCKS", accesses: "ACCESSES" },
  ...{ temporary: "TEMPORARY", copied: "COPIED", spare: "SPARE" },
} satisfies Partial<Record<MetricKey, string>>;

/** What paths of the heap can be weighed by. */
export const HEAP_STACK_KEYS = Object.keys(HEADS) as (keyof typeof HEADS)[];

/**
 * The call paths to allocations, with all of a heap profile that adds up. A path leads to the frame that names its site: where
 * libraries are known, what they do inside is the site's own.
 */
export function heapStacks(profile: HeapProfile): WeightedStacks {
  const each = everyContext(profile);
  const columns = HEAP_STACK_KEYS.flatMap((key): { metric: StackMetric; values: Float64Array }[] => {
    const { title, unit } = METRICS.find((metric) => metric.key === key)!;
    const values = measureGroups(profile, each, key);
    if (values === undefined) return [];
    return [{ metric: { key, title, head: HEADS[key], unit: unit === "bytes" ? "bytes" : "count" }, values }];
  });
  const collector = new StackCollector();
  const frames = new Map<IndexIntoFrameTable, StackFrame>();
  const frameOf = (index: IndexIntoFrameTable): StackFrame => {
    let frame = frames.get(index);
    if (frame === undefined) {
      frame = stackFrame(profile, index);
      frames.set(index, frame);
    }
    return frame;
  };
  for (const [context] of each.contexts) {
    const stack = siteStackOfContext(profile, context!);
    const path = stack === NONE ? [] : framesOfStack(profile, stack).map(frameOf);
    collector.addPath(
      path,
      columns.map(({ values }) => values[context!]!),
    );
  }
  return collector.finish({ tool: "heap", metrics: columns.map(({ metric }) => metric), gaps: [] });
}

function everyContext({ contexts: { length } }: HeapProfile): ContextGroups {
  const contexts = Array.from({ length }, (_, row) => row as IndexIntoContextTable);
  return { by: "path", length, groupOf: Int32Array.from(contexts), contexts: contexts.map((row) => [row]) };
}

function stackFrame(profile: HeapProfile, frame: IndexIntoFrameTable): StackFrame {
  const { frames, functions, modules, strings } = profile;
  const row = frames.function[frame]!;
  const [name, module] = [functions.name[row]!, functions.module[row]!];
  const [file, line] = [frames.file[frame]!, frames.line[frame]!];
  const named = name !== NONE ? strings[name] : functionNumber(profile, row);
  // A number of native code says the module itself.
  const isTelling =
    modules.length < 2 ||
    (name === NONE
      ? module !== NONE && modules[module]!.objectAddress !== undefined
      : !ambiguousFunctions(profile).has(strings[name]!));
  return {
    function: named,
    module: isTelling || module === NONE ? undefined : modules[module]!.name,
    file: file === NONE ? undefined : strings[file],
    line: line === 0 ? undefined : line,
    startLine: frames.startLine?.[frame] || undefined,
    address: module === NONE ? undefined : module * MODULE_SPAN + frames.offset[frame]!,
    library: frames.library?.[frame],
  };
}
