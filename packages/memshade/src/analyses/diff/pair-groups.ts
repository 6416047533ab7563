import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { type ContextGroups, type GroupBy, groupContexts } from "../groups.ts";
import { type GroupKey, groupKey } from "./group-keys.ts";
import { type GroupPair, pairKeys } from "./pair-keys.ts";

export interface PairedGroups {
  readonly old: ContextGroups;
  readonly new: ContextGroups;
  /** Each group of either profile once. */
  readonly pairs: readonly GroupPair[];
}

/** Finds the groups of one profile in another one. */
export function pairGroups(older: HeapProfile, newer: HeapProfile, by: GroupBy): PairedGroups {
  const old = keyedGroups(older, by);
  const now = keyedGroups(newer, by);
  return { old: old.groups, new: now.groups, pairs: pairKeys(old.keys, now.keys) };
}

interface KeyedGroups {
  readonly groups: ContextGroups;
  readonly keys: readonly GroupKey[];
}

/** The groups of a profile, those with the same names and places in one. */
function keyedGroups(profile: HeapProfile, by: GroupBy): KeyedGroups {
  const finer = groupContexts(profile, by);
  const keys: GroupKey[] = [];
  const contexts: IndexIntoContextTable[][] = [];
  const groupOf = new Int32Array(finer.groupOf.length);
  const groupOfKey = new Map<string, number>();
  for (const members of finer.contexts) {
    const key = groupKey(profile, members[0]!, by);
    let group = groupOfKey.get(key.exact);
    if (group === undefined) {
      group = keys.push(key) - 1;
      contexts.push([]);
      groupOfKey.set(key.exact, group);
    }
    for (const context of members) {
      groupOf[context] = group;
      contexts[group]!.push(context);
    }
  }
  return { groups: { by, length: keys.length, groupOf, contexts }, keys };
}
