import type { SiteTable } from "./site-table.ts";

/** How often loads and stores of a module ran in earlier runs: lists side by side, of those that did run. */
export interface SiteRuns {
  /** Where they are: code offsets, ascending. */
  offsets: readonly number[];
  runs: readonly number[];
  /** How often more was to do than usual: loads of bytes not all read before, stores of what was there already. */
  events: readonly number[];
  /** Defined functions of which nothing is known, ascending: code that is new since. What else is not listed did not run. */
  newFunctions?: readonly number[];
}

/** The same with an entry for each site of the module. */
export interface RunsPerSite {
  runs: Float64Array;
  events: Float64Array;
  /** 1 for sites of new functions. */
  isNew: Uint8Array;
}

/** What is known of each site; of a module's sites only that ran. */
export function runsPerSite(
  sites: SiteTable,
  { offsets, runs, events, newFunctions = [] }: SiteRuns,
): RunsPerSite {
  const found = {
    runs: new Float64Array(sites.length),
    events: new Float64Array(sites.length),
    isNew: new Uint8Array(sites.length),
  };
  for (const defined of newFunctions)
    found.isNew.fill(1, sites.firstOfFunction[defined], sites.firstOfFunction[defined + 1]);
  for (let site = 0, at = 0; site < sites.length; site++) {
    while (at < offsets.length && offsets[at] < sites.offset[site]) at++;
    if (at === offsets.length) break;
    if (offsets[at] !== sites.offset[site]) continue;
    found.runs[site] = runs[at];
    found.events[site] = events[at];
  }
  return found;
}

/**
 * Runs that are known, and less than one where nothing ran: there the order of the `guessed` ones counts. Of new functions
 * the guess, in units of what guesses turned out to be where runs are known.
 */
export function likelyRuns(guessed: Float64Array, { runs, isNew }: RunsPerSite): Float64Array {
  let logarithms = 0;
  let ran = 0;
  guessed.forEach((guess, site) => {
    if (runs[site] === 0 || guess === 0) return;
    logarithms += Math.log(runs[site] / guess);
    ran++;
  });
  const unit = Math.exp(logarithms / Math.max(ran, 1));
  return guessed.map((guess, site) => (isNew[site] === 1 ? guess * unit : runs[site] + guess / (1 + guess)));
}
