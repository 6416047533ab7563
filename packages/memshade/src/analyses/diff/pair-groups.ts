import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { type ContextGroups, type GroupBy, groupContexts } from "../groups.ts";
import { comparePlaces, type GroupKey, groupKey } from "./group-keys.ts";

/** A group of the older profile and the same one of the newer; undefined where one of them has none. */
export interface GroupPair {
  readonly old: number | undefined;
  readonly new: number | undefined;
}

export interface PairedGroups {
  readonly old: ContextGroups;
  readonly new: ContextGroups;
  /** Each group of either profile once. */
  readonly pairs: readonly GroupPair[];
}

/**
 * Finds the groups of one profile in another one. Groups are the same if names and places of their frames are. What is
 * left over under the same names was moved by a change of the source, if there is equally much of it in both: it is
 * paired in the order of its places.
 */
export function pairGroups(older: HeapProfile, newer: HeapProfile, by: GroupBy): PairedGroups {
  const old = keyedGroups(older, by);
  const now = keyedGroups(newer, by);
  const pairs: GroupPair[] = [];
  const numbers = new Map(now.keys.map(({ exact }, group) => [exact, group]));
  const leftOver = new Map<string, { old: number[]; new: number[] }>();
  const leave = (side: "old" | "new", { names }: GroupKey, group: number) => {
    let under = leftOver.get(names);
    if (under === undefined) {
      under = { old: [], new: [] };
      leftOver.set(names, under);
    }
    under[side].push(group);
  };
  const isPaired = new Uint8Array(now.keys.length);
  for (const [group, key] of old.keys.entries()) {
    const same = numbers.get(key.exact);
    if (same === undefined) {
      leave("old", key, group);
      continue;
    }
    isPaired[same] = 1;
    pairs.push({ old: group, new: same });
  }
  for (const [group, key] of now.keys.entries()) if (isPaired[group] === 0) leave("new", key, group);
  for (const under of leftOver.values()) {
    if (under.old.length === under.new.length) {
      const inOrder = ({ keys }: KeyedGroups, groups: number[]) =>
        groups.sort((a, b) => comparePlaces(keys[a]!.places, keys[b]!.places));
      const moved = inOrder(now, under.new);
      for (const [index, group] of inOrder(old, under.old).entries()) {
        pairs.push({ old: group, new: moved[index]! });
      }
      continue;
    }
    for (const group of under.old) pairs.push({ old: group, new: undefined });
    for (const group of under.new) pairs.push({ old: undefined, new: group });
  }
  return { old: old.groups, new: now.groups, pairs };
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
