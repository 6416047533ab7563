import {
  canonicalSymbol,
  type DataAccessProfile,
  type DataAccessRecord,
} from "../../../profile/model/memprof/index.ts";
import { HOT_PART, type StaticObject, type StaticSymbolName, type StaticsReport } from "./static-objects.ts";

/** Of one symbol, in all runs together. */
export interface SymbolUse {
  readonly accesses: number;
  /** Nobody read or wrote it in any run. */
  readonly isUntouched: boolean;
  readonly places: readonly SymbolPlace[];
}

export interface SymbolPlace {
  readonly file: string;
  readonly line: number;
}

/**
 * LLVM's data access profile of runs. The compiler takes every symbol with a record for hot, so there are records of those alone that
 * have 99 % of all accesses; known to be cold are those that no run touched. What shares 8 bytes counts as accessed as often as the
 * others there.
 */
export function dataAccessProfile(reports: readonly StaticsReport[]): DataAccessProfile {
  return profileOfSymbols(reports.flatMap((report) => [...symbolUses(report)]));
}

/** What a run says of its symbols, by the names that the compiler has for them. */
export function symbolUses({ objects }: StaticsReport): Map<string, SymbolUse> {
  return together(
    objects.flatMap((object) =>
      namesOf(object).map((name): [string, SymbolUse] => [
        symbolOf(name),
        { accesses: object.accesses, isUntouched: object.use === "untouched", places: placesOf(name) },
      ]),
    ),
  );
}

/** As {@link dataAccessProfile}, of the symbols of all runs. */
export function profileOfSymbols(uses: Iterable<readonly [string, SymbolUse]>): DataAccessProfile {
  const symbols = together(uses);
  const ranked = [...symbols].sort(([a, x], [b, y]) => y.accesses - x.accesses || compare(a, b));
  const total = ranked.reduce((sum, [, { accesses }]) => sum + accesses, 0);
  const hot = new Map<string, DataAccessRecord>();
  let seen = 0;
  for (const [name, { accesses, places }] of ranked) {
    if (accesses === 0 || seen >= total * HOT_PART) break;
    seen += accesses;
    const symbol = canonicalSymbol(name);
    const before = hot.get(symbol);
    hot.set(symbol, {
      symbol,
      accessCount: BigInt(Math.round(accesses)) + (before?.accessCount ?? 0n),
      locations: [...(before?.locations ?? []), ...places],
    });
  }
  return {
    records: [...hot.values()].sort((a, b) => compare(String(a.symbol), String(b.symbol))),
    coldSymbols: ranked.flatMap(([name, { isUntouched }]) => (isUntouched ? [name] : [])).sort(compare),
    coldHashes: [],
  };
}

function namesOf(object: StaticObject): readonly StaticSymbolName[] {
  if (object.kind === "shared") return object.members ?? [];
  return object.kind === "variable" ? [object] : [];
}

function placesOf({ file, line }: StaticSymbolName): SymbolPlace[] {
  return file !== undefined && line > 0 ? [{ file, line }] : [];
}

/** Each symbol once. */
function together(uses: Iterable<readonly [string, SymbolUse]>): Map<string, SymbolUse> {
  const symbols = new Map<string, SymbolUse>();
  for (const [name, use] of uses) {
    const known = symbols.get(name);
    symbols.set(
      name,
      known === undefined
        ? use
        : {
            accesses: known.accesses + use.accesses,
            isUntouched: known.isUntouched && use.isUntouched,
            places: distinct([...known.places, ...use.places]),
          },
    );
  }
  return symbols;
}

function distinct(places: readonly SymbolPlace[]): SymbolPlace[] {
  return [...new Map(places.map((place) => [`${place.line} ${place.file}`, place])).values()];
}

/** As the compiler names it; a variable inside of a C function is that function's. */
function symbolOf({ name, linkageName }: StaticSymbolName): string {
  return linkageName ?? name.replaceAll("::", ".");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
