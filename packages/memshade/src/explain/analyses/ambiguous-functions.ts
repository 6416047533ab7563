import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { NONE } from "../../profile/model/indices.ts";
import { ambiguousNames } from "../../profile/model/named-module.ts";

const cache = new WeakMap<HeapProfile, ReadonlySet<string>>();

export function ambiguousFunctions(profile: HeapProfile): ReadonlySet<string> {
  let ambiguous = cache.get(profile);
  if (ambiguous === undefined) {
    const { functions, strings } = profile;
    const names: [number, string][] = [];
    for (let row = 0; row < functions.length; row++)
      if (functions.name[row] !== NONE) names.push([functions.module[row]!, strings[functions.name[row]!]!]);
    ambiguous = ambiguousNames(names);
    cache.set(profile, ambiguous);
  }
  return ambiguous;
}
