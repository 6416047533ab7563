import { comparePlaces, type GroupKey } from "./group-keys.ts";

/** A group of the older profile and the same one of the newer; undefined where one of them has none. */
export interface GroupPair {
  readonly old: number | undefined;
  readonly new: number | undefined;
}

/**
 * Pairs the groups of two profiles. Groups are the same if names and places of their frames are. What is left over under the
 * same names was moved by a change of the source, if there is equally much of it in both: it is paired in the order of its
 * places.
 */
export function pairKeys(old: readonly GroupKey[], now: readonly GroupKey[]): GroupPair[] {
  const pairs: GroupPair[] = [];
  const numbers = new Map(now.map(({ exact }, group) => [exact, group]));
  const leftOver = new Map<string, { old: number[]; new: number[] }>();
  const leave = (side: "old" | "new", { names }: GroupKey, group: number) => {
    let under = leftOver.get(names);
    if (under === undefined) {
      under = { old: [], new: [] };
      leftOver.set(names, under);
    }
    under[side].push(group);
  };
  const isPaired = new Uint8Array(now.length);
  for (const [group, key] of old.entries()) {
    const same = numbers.get(key.exact);
    if (same === undefined) {
      leave("old", key, group);
      continue;
    }
    isPaired[same] = 1;
    pairs.push({ old: group, new: same });
  }
  for (const [group, key] of now.entries()) if (isPaired[group] === 0) leave("new", key, group);
  for (const under of leftOver.values()) {
    if (under.old.length === under.new.length) {
      const inOrder = (keys: readonly GroupKey[], groups: number[]) =>
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
  return pairs;
}
