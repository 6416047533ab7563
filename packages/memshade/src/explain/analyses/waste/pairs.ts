import type { PairKind, WasteFile, WasteIp } from "../../../profile/model/waste/waste.ts";

/** Two places of which the second undid, repeated or re-read what the first did. */
export interface PairRow {
  kind: PairKind;
  /** What came first, without the callers it shares with the second; empty where nobody of the program did. */
  first: readonly WasteIp[];
  origin: "init" | "zero" | undefined;
  second: readonly WasteIp[];
  /** Callers of both, innermost first. */
  common: readonly WasteIp[];
  bytes: number;
  operations: number;
  /** Of all bytes of pairs of this kind of waste, alone and with the rows before. */
  share: number;
  cumulativeShare: number;
}

/** Which pairs a ranking is about: those of dead bytes (whatever ended them), of silent stores or of redundant loads. */
export type PairTable = "dead" | "silent" | "redundant";

const TABLE_OF: Readonly<Record<PairKind, PairTable>> = {
  overwritten: "dead",
  deallocated: "dead",
  returned: "dead",
  exit: "dead",
  silent: "silent",
  redundant: "redundant",
};

/** The pairs of one table, most bytes first, with their common callers folded. */
export function rankPairs(file: WasteFile, table: PairTable): PairRow[] {
  const pairs = (file.pairs ?? []).filter(({ kind }) => TABLE_OF[kind] === table);
  const total = pairs.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  return [...pairs]
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ kind, first, origin, second, end, bytes, operations }) => {
      const sites = kind === "redundant" ? file.loads : file.stores;
      const from = first === undefined ? [] : (sites[first]?.ips ?? []);
      const by = second === undefined ? undefined : sites[second]?.ips;
      const to = by ?? (end === undefined ? [] : (file.ends?.[end]?.ips ?? []));
      before += bytes;
      return {
        kind,
        origin,
        ...foldCallers(from, to),
        bytes,
        operations,
        share: total === 0 ? 0 : bytes / total,
        cumulativeShare: total === 0 ? 0 : before / total,
      };
    });
}

/** Takes the callers that two paths end with off both. The places themselves stay. */
export function foldCallers(
  first: readonly WasteIp[],
  second: readonly WasteIp[],
): Pick<PairRow, "first" | "second" | "common"> {
  let common = 0;
  while (
    common < first.length - 1 &&
    common < second.length - 1 &&
    first[first.length - 1 - common]!.address === second[second.length - 1 - common]!.address
  )
    common++;
  return {
    first: first.slice(0, first.length - common),
    second: second.slice(0, second.length - common),
    common: common === 0 ? [] : first.slice(first.length - common),
  };
}
