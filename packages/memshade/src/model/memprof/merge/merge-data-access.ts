import type { DataAccessProfile, DataAccessRecord } from "../profile.ts";

/** Both profiles in one: counts of equal symbols added, their places and the cold names united. */
export function mergeDataAccess(
  a: DataAccessProfile | undefined,
  b: DataAccessProfile | undefined,
): DataAccessProfile | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const records = new Map<string | bigint, DataAccessRecord>();
  for (const record of [...a.records, ...b.records]) {
    const known = records.get(record.symbol);
    records.set(record.symbol, known === undefined ? record : mergeRecords(known, record));
  }
  return {
    records: [...records.values()].sort(
      (x, y) => compare(typeof x.symbol, typeof y.symbol) || compare(x.symbol, y.symbol),
    ),
    coldSymbols: [...new Set([...a.coldSymbols, ...b.coldSymbols])].sort(compare),
    coldHashes: [...new Set([...a.coldHashes, ...b.coldHashes])].sort(compare),
  };
}

function mergeRecords(a: DataAccessRecord, b: DataAccessRecord): DataAccessRecord {
  const places = new Map(
    [...a.locations, ...b.locations].map((place) => [`${place.line} ${place.file}`, place]),
  );
  return {
    symbol: a.symbol,
    accessCount: BigInt.asUintN(64, a.accessCount + b.accessCount),
    locations: [...places.values()].sort((x, y) => compare(x.file, y.file) || x.line - y.line),
  };
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
