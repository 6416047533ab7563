import { profileOfSymbols, type SymbolUse } from "../explain/analyses/statics/data-access-profile.ts";
import type { DataAccessRecord, ProfileMerger } from "../profile/model/memprof/index.ts";
import type { Cell, StoreDatabase } from "./database.ts";

interface AccessRow {
  readonly symbol: string | bigint;
  readonly count: bigint;
  readonly isCold: boolean;
  readonly isCounted: boolean;
  readonly places: readonly { readonly file: string; readonly line: number }[];
}

/** Adds what the chosen runs know of accesses to static data: what profiles list, and what is hot by all counts together. */
export async function addDataAccesses(database: StoreDatabase, tables: ProfileMerger): Promise<void> {
  const { rows } = await database.ask(
    `select r.run, a.position, a.symbol, a."hash", a.access_count, a.cold, a.counted, p.file_name, p.line
     from chosen as r left join data_accesses as a on a.run = r.run
     left join data_places as p on p.run = r.run and p.position = a.position
     where r.static_data order by r.started, r.run, a.position, p.place`,
  );
  const runs = new Map<Cell, Map<Cell, AccessRow & { readonly places: AccessRow["places"][number][] }>>();
  for (const [run, position, symbol, hash, count, cold, counted, file, line] of rows) {
    const known = runs.get(run!) ?? new Map();
    runs.set(run!, known);
    if (position === null) continue;
    const row = known.get(position!) ?? {
      symbol: symbol === null ? BigInt.asUintN(64, hash as bigint) : (symbol as string),
      count: BigInt.asUintN(64, (count ?? 0n) as bigint),
      isCold: cold as boolean,
      isCounted: counted as boolean,
      places: [],
    };
    known.set(position!, row);
    if (file !== null) row.places.push({ file: file as string, line: Number(line) });
  }
  const uses: [string, SymbolUse][] = [];
  let isCounted = false;
  for (const known of runs.values()) {
    const accesses = [...known.values()];
    if (accesses.some((row) => row.isCounted)) {
      isCounted = true;
      uses.push(...accesses.map(useOf));
    } else addListed(tables, accesses);
  }
  if (isCounted) tables.addDataAccess(profileOfSymbols(uses));
}

function useOf({ symbol, count, isCold, places }: AccessRow): [string, SymbolUse] {
  return [symbol as string, { accesses: Number(count), isUntouched: isCold, places }];
}

function addListed(tables: ProfileMerger, accesses: readonly AccessRow[]): void {
  const cold = accesses.filter(({ isCold }) => isCold).map(({ symbol }) => symbol);
  tables.addDataAccess({
    records: accesses
      .filter(({ isCold }) => !isCold)
      .map(
        ({ symbol, count, places }): DataAccessRecord => ({ symbol, accessCount: count, locations: places }),
      ),
    coldSymbols: cold.filter((symbol) => typeof symbol === "string"),
    coldHashes: cold.filter((symbol) => typeof symbol === "bigint"),
  });
}
