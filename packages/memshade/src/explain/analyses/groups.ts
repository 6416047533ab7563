import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../profile/model/indices.ts";
import { siteFrameOfContext } from "../../profile/model/site-frame.ts";

/**
 * Grouping of contexts into rows. A "path" is a full call path to an allocation, a "site" the program's own call that
 * leads to it for all its callers, and a "function" all calls in one function. Compiler-made copies of a call are one
 * site if its source position is known.
 */
export type GroupBy = "path" | "site" | "function";

export const GROUPINGS: readonly GroupBy[] = ["path", "site", "function"];

export interface ContextGroups {
  readonly by: GroupBy;
  readonly length: number;
  readonly groupOf: Int32Array;
  readonly contexts: readonly (readonly IndexIntoContextTable[])[];
}

export function groupContexts(profile: HeapProfile, by: GroupBy): ContextGroups {
  const count = profile.contexts.length;
  const groupOf = new Int32Array(count);
  const contexts: IndexIntoContextTable[][] = [];
  const groupOfKey = new Map<number | string, number>();
  for (let row = 0; row < count; row++) {
    const context = row as IndexIntoContextTable;
    const key = groupKey(profile, context, by);
    let group = groupOfKey.get(key);
    if (group === undefined) {
      group = contexts.length;
      contexts.push([]);
      groupOfKey.set(key, group);
    }
    groupOf[row] = group;
    contexts[group]!.push(context);
  }
  return { by, length: contexts.length, groupOf, contexts };
}

export function sumOf(
  column: ArrayLike<number> | ArrayLike<bigint>,
  contexts: readonly IndexIntoContextTable[],
): number {
  return contexts.reduce((total, context) => total + Number(column[context]), 0);
}

/** Sums a column of the context table (or of numbers in its order) by group. */
export function sumByGroup(
  groups: ContextGroups,
  column: ArrayLike<number> | ArrayLike<bigint>,
): Float64Array {
  const sums = new Float64Array(groups.length);
  for (let context = 0; context < groups.groupOf.length; context++)
    sums[groups.groupOf[context]!]! += Number(column[context]);
  return sums;
}

function groupKey(profile: HeapProfile, context: IndexIntoContextTable, by: GroupBy): number | string {
  if (by === "path") return profile.contexts.stack[context]!;
  const frame = siteFrameOfContext(profile, context);
  if (frame === undefined) return NONE;
  const { function: functions, file, line, column, approximate } = profile.frames;
  if (by === "function") return functions[frame]!;
  const isPlaceKnown = file[frame] !== NONE && line[frame] !== 0;
  if (!isPlaceKnown) return frame;
  const place = `${functions[frame]} ${file[frame]} ${line[frame]} ${column[frame]}`;
  // A place without a line of its own differs from the place whose line it has.
  return approximate?.[frame] === 1 ? `near ${place}` : place;
}
