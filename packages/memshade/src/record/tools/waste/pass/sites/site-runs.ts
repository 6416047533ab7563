import type { SiteRuns, SiteTable } from "../../site-table.ts";

/** How often the sites of a module ran, with an entry for each of them. */
export interface RunsPerSite {
  runs: Float64Array;
}

/** What is known of each site; of a module's sites only that ran. */
export function runsPerSite(sites: SiteTable, { offsets, runs }: SiteRuns): RunsPerSite {
  const found = { runs: new Float64Array(sites.length) };
  for (let site = 0, at = 0; site < sites.length; site++) {
    while (at < offsets.length && offsets[at] < sites.offset[site]) at++;
    if (at === offsets.length) break;
    if (offsets[at] === sites.offset[site]) found.runs[site] = runs[at];
  }
  return found;
}
