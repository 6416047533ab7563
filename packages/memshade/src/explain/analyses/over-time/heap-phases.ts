import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../../profile/model/indices.ts";
import type { InstanceHeap } from "../../../profile/model/over-time/heap-intervals.ts";
import { framesOfStack } from "../../../profile/model/stacks.ts";
import type { StackFrame } from "../../../profile/model/working-set/working-set.ts";
import { frameName } from "../frames/frame-name.ts";
import { type Phase, phasesOf } from "../phases/phases.ts";

/** The phases of an instance's heap, by what was live most in each interval and by who allocated behind it. */
export interface HeapPhases {
  readonly phases: readonly Phase[];
  /** What `Phase.stack` is an index into: the context's row, and its frames. */
  readonly contexts: readonly IndexIntoContextTable[];
}

/** Rows of contexts by their keys in the raw profile. */
export function rowsOfContexts({ contexts }: HeapProfile): Map<string, IndexIntoContextTable> {
  return new Map(
    Array.from(contexts.stackId, (stackId, row) => [`${stackId}`, row as IndexIntoContextTable]),
  );
}

export function heapPhases(profile: HeapProfile, { intervals }: InstanceHeap): HeapPhases {
  const rows = rowsOfContexts(profile);
  const numbers = new Map<string, number>();
  const contexts: IndexIntoContextTable[] = [];
  const stackOf = intervals.next.map((stackId) => {
    const row = rows.get(stackId);
    if (row === undefined) return -1;
    const known = numbers.get(stackId);
    if (known !== undefined) return known;
    numbers.set(stackId, contexts.length);
    return contexts.push(row) - 1;
  });
  const stacks = contexts.map((row) => stackOfContext(profile, row));
  const { start, end, maxBytes: sizes } = intervals;
  return { phases: phasesOf({ start, end, sizes, stackOf, stacks }), contexts };
}

function stackOfContext(profile: HeapProfile, row: IndexIntoContextTable): StackFrame[] {
  const { contexts, frames } = profile;
  // Phases are named by the program's own code, not by what it allocates through.
  const stack = contexts.siteStack?.[row] ?? contexts.stack[row]!;
  if (stack === NONE) return [];
  return framesOfStack(profile, stack).map((frame) => ({
    function: frames.function[frame]!,
    offset: frames.offset[frame]!,
    name: frameName(profile, frame),
  }));
}
