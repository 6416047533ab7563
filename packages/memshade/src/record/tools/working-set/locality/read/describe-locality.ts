import type { LocalityRecord, LocalitySite } from "../../../../../profile/model/working-set/working-set.ts";
import type { ModuleFunctions } from "../../../module-functions.ts";
import type { LinesOf } from "../../../session.ts";
import { innermostMembers } from "../../../source-places.ts";
import type { LocalityLayout } from "../memory-plan.ts";
import type { LocalityTables } from "./read-locality.ts";

/** Instructions listed, those with most misses first. */
const MOST_SITES = 256;

/** What a run's file says of the locality of one instance. */
export function describeLocality(
  layout: LocalityLayout,
  tables: LocalityTables,
  functions: () => ModuleFunctions,
  linesOf: ReturnType<LinesOf>,
): LocalityRecord {
  const { references, sampled, rate, cold, distances, times, firsts, lasts, sites } = tables;
  const listed = sites.slice(0, MOST_SITES);
  const others = sites.slice(MOST_SITES);
  const offsets = listed.flatMap(({ offset }) => offset ?? []);
  const containing = offsets.length === 0 ? [] : functions().containing(offsets);
  const describeSite = ({ offset, ...counts }: (typeof sites)[number]): LocalitySite => {
    if (offset === undefined) return counts;
    const within = containing.find(({ offset: from, end }) => offset >= from && offset < end);
    const place = linesOf?.(offset);
    const name = within?.name ?? place?.function;
    const { file, line, ...more } = innermostMembers(place);
    return {
      frame: { function: within?.index ?? 0, offset, ...(name === undefined ? {} : { name }), ...more },
      ...(file === undefined ? {} : { file, line }),
      ...counts,
    };
  };
  return {
    method: layout.exact ? "exact" : "shards",
    references,
    sampled,
    rate,
    cold,
    distances,
    times,
    firsts,
    lasts,
    sites: listed.map(describeSite),
    otherSites: { sites: others.length, misses: others.reduce((sum, { misses }) => sum + misses, 0) },
    sitesAtLines: layout.cacheLines,
  };
}
