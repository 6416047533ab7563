import type { SiteTable } from "./site-table.ts";

/** How often loads and stores of a module ran in earlier runs: lists side by side, of those that did run. */
export interface SiteRuns {
  /** Where they are: code offsets, ascending. */
  offsets: readonly number[];
  runs: readonly number[];
  /** How often more was to do than usual: loads of bytes not all read before, stores of what was there already. */
  events: readonly number[];
}

/** The same with an entry for each site of the module. */
export interface RunsPerSite {
  runs: Float64Array;
  events: Float64Array;
}

/** What is known of each site; of a module's sites only that ran. */
export function runsPerSite(sites: SiteTable, { offsets, runs, events }: SiteRuns): RunsPerSite {
  const found = { runs: new Float64Array(sites.length), events: new Float64Array(sites.length) };
  for (let site = 0, at = 0; site < sites.length; site++) {
    while (at < offsets.length && offsets[at] < sites.offset[site]) at++;
    if (at === offsets.length) break;
    if (offsets[at] !== sites.offset[site]) continue;
    found.runs[site] = runs[at];
    found.events[site] = events[at];
  }
  return found;
}

/** Runs that are known, and less than one where nothing ran: there the order of the `guessed` ones counts. */
export function likelyRuns(guessed: Float64Array, { runs }: RunsPerSite): Float64Array {
  return guessed.map((guess, site) => runs[site] + guess / (1 + guess));
}
