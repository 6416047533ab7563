import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../profile/model/indices.ts";
import { type InstanceHeap, liveBytesOf } from "../../profile/model/over-time/heap-intervals.ts";
import { framesOfStack } from "../../profile/model/stacks.ts";
import type { StackFrame } from "../../profile/model/working-set/working-set.ts";
import { frameName } from "./frames/frame-name.ts";
import { groupContexts } from "./groups.ts";
import { type Phase, phasesOf } from "./phases.ts";

/**
 * Phases of an instance's heap, by the maximum of live bytes in each interval and by the allocation that followed it.
 */
export interface HeapPhases {
  readonly phases: readonly Phase[];
  /** Contexts that `Phase.stack` is an index into. */
  readonly contexts: readonly IndexIntoContextTable[];
}

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
    const existing = numbers.get(stackId);
    if (existing !== undefined) return existing;
    numbers.set(stackId, contexts.length);
    return contexts.push(row) - 1;
  });
  const stacks = contexts.map((row) => stackOfContext(profile, row));
  const { start, end, maxBytes: sizes } = intervals;
  return { phases: phasesOf({ start, end, sizes, stackOf, stacks }), contexts };
}

function stackOfContext(profile: HeapProfile, row: IndexIntoContextTable): StackFrame[] {
  const { contexts, frames } = profile;
  // Phases are named by the program's own code, not by the libraries through which it allocates.
  const stack = contexts.siteStack?.[row] ?? contexts.stack[row]!;
  if (stack === NONE) return [];
  return framesOfStack(profile, stack).map((frame) => ({
    function: frames.function[frame]!,
    offset: frames.offset[frame]!,
    name: frameName(profile, frame),
  }));
}

interface SiteOverTime {
  readonly contexts: readonly IndexIntoContextTable[];
  readonly liveBytes: Float64Array;
  readonly most: number;
}

/** Returns the sites of an instance with live bytes at the end of an interval, in descending order of their maximum. */
export function sitesOverTime(profile: HeapProfile, { intervals, contexts }: InstanceHeap): SiteOverTime[] {
  const count = intervals.start.length;
  const rows = rowsOfContexts(profile);
  const byRow = new Map(contexts.map((context) => [rows.get(context.stackId), liveBytesOf(context, count)]));
  const sites = groupContexts(profile, "site").contexts.map((own) => {
    const liveBytes = new Float64Array(count);
    for (const row of own)
      byRow.get(row)?.forEach((bytes, i) => {
        liveBytes[i]! += bytes;
      });
    return { contexts: own, liveBytes, most: liveBytes.reduce((most, bytes) => Math.max(most, bytes), 0) };
  });
  return sites.filter(({ most }) => most > 0).sort((a, b) => b.most - a.most);
}
