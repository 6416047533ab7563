import { canonicalSymbol, type DataAccessProfile, type DataAccessRecord } from "../../model/memprof/index.ts";
import { HOT_PART, type StaticObject, type StaticSymbolName, type StaticsReport } from "./static-objects.ts";

/** Of one symbol, in all runs together. */
interface SymbolUse {
  accesses: number;
  /** Nobody read or wrote it in any run. */
  isUntouched: boolean;
  readonly places: Map<string, { readonly file: string; readonly line: number }>;
}

/**
 * LLVM's data access profile of runs. The compiler takes every symbol with a record for hot, so there are records of those alone that
 * have 99 % of all accesses; known to be cold are those that no run touched. What shares 8 bytes counts as accessed as often as the
 * others there.
 */
export function dataAccessProfile(reports: readonly StaticsReport[]): DataAccessProfile {
  const symbols = new Map<string, SymbolUse>();
  for (const { objects } of reports)
    for (const object of objects) for (const name of namesOf(object)) add(symbols, name, object);
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
      locations: [...(before?.locations ?? []), ...places.values()],
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

function add(symbols: Map<string, SymbolUse>, name: StaticSymbolName, { accesses, use }: StaticObject): void {
  const key = symbolOf(name);
  const symbol = symbols.get(key) ?? { accesses: 0, isUntouched: true, places: new Map() };
  symbol.accesses += accesses;
  symbol.isUntouched &&= use === "untouched";
  const { file, line } = name;
  if (file !== undefined && line > 0) symbol.places.set(`${line} ${file}`, { file, line });
  symbols.set(key, symbol);
}

/** As the compiler names it; a variable inside of a C function is that function's. */
function symbolOf({ name, linkageName }: StaticSymbolName): string {
  return linkageName ?? name.replaceAll("::", ".");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
