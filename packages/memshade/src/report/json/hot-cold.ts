import { type ClassifiedSite, classifySites, type TypeTotals } from "../../analyses/hot-cold.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import type { HotColdThresholds } from "../../model/memprof/hot-cold.ts";
import { describeFrame } from "../frames.ts";

/** The classification of all allocation calls, with the limits that were used. */
export function hotColdJson(profile: HeapProfile, thresholds: HotColdThresholds): object {
  return {
    thresholds,
    sites: classifySites(profile, thresholds).map((site) => siteJson(profile, site)),
  };
}

function siteJson(profile: HeapProfile, { frame, type, totals, byType, deciding }: ClassifiedSite): object {
  return {
    type,
    frame: describeFrame(profile, frame),
    ...totals,
    byType: Object.fromEntries(Array.from(byType, ([key, value]): [string, TypeTotals] => [key, value])),
    deciding: deciding.map((suffix) => ({
      type: suffix.type,
      ...suffix.totals,
      frames: suffix.frames.map((inner) => describeFrame(profile, inner)),
    })),
  };
}
