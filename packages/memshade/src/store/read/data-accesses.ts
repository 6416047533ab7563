import { symbolUses } from "../../analyses/statics/data-access-profile.ts";
import type { StaticsReport } from "../../analyses/statics/static-objects.ts";
import type { DataAccessProfile } from "../../model/memprof/index.ts";
import type { StoredDataAccess } from "../stored-run.ts";

/** What a run counted: what of it is hot follows from all runs together. */
export function countedAccesses(report: StaticsReport): StoredDataAccess[] {
  return Array.from(symbolUses(report), ([symbol, { accesses, isUntouched, places }]) => ({
    symbol,
    accesses,
    isCold: isUntouched,
    isCounted: true,
    places,
  }));
}

/** What a profile lists, in its order. */
export function listedAccesses({ records, coldSymbols, coldHashes }: DataAccessProfile): StoredDataAccess[] {
  return [
    ...records.map(({ symbol, accessCount, locations }) => ({
      symbol,
      accesses: accessCount,
      isCold: false,
      isCounted: false,
      places: locations,
    })),
    ...[...coldSymbols, ...coldHashes].map((symbol) => ({
      symbol,
      isCold: true,
      isCounted: false,
      places: [],
    })),
  ];
}
