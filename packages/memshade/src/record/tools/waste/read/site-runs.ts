import type { SiteRuns } from "../site-table.ts";
import type { WasteContents } from "./read-waste.ts";

export interface ModuleRuns {
  original: Uint8Array;
  runs: SiteRuns;
}

/** Adds up the runs of the loads and stores of a module, in all contexts of all instances. */
export function siteRunsOf(contents: readonly WasteContents[]): SiteRuns {
  const sums = new Map<number, number>();
  const add = (path: readonly number[], runs: number) => {
    if (path.length > 0 && runs > 0) sums.set(path[0], (sums.get(path[0]) ?? 0) + runs);
  };
  for (const { stores, loads } of contents) {
    for (const store of stores) add(store.path, store.stores);
    for (const load of loads) add(load.path, load.loads);
  }
  const sorted = [...sums].sort(([a], [b]) => a - b);
  return { offsets: sorted.map(([offset]) => offset), runs: sorted.map(([, runs]) => runs) };
}
