import type { StaticObject, StaticsReport } from "./static-objects.ts";

/** What static data can be ranked by: accesses to it, or its bytes that nobody reads. */
export const STATIC_KEYS = ["static", "unread-data"] as const;
export type StaticKey = (typeof STATIC_KEYS)[number];

export interface RankedStatic {
  readonly object: StaticObject;
  readonly value: number;
}

/** Static data that has something of what is asked for. */
export interface StaticRanking {
  readonly ranked: readonly RankedStatic[];
  /** Of all static data. */
  readonly total: number;
}

export function rankStatics(
  { objects }: StaticsReport,
  by: StaticKey,
  order: "largest" | "smallest" = "largest",
): StaticRanking {
  const value = by === "static" ? (object: StaticObject) => object.accesses : notRead;
  const all = objects.map((object) => ({ object, value: value(object) })).filter((row) => row.value > 0);
  const sign = order === "largest" ? 1 : -1;
  return {
    ranked: all.sort((a, b) => sign * (b.value - a.value)),
    total: all.reduce((sum, row) => sum + row.value, 0),
  };
}

/** Bytes that certainly nobody reads. */
function notRead({ untouchedBytes, unreadBytes }: StaticObject): number {
  return untouchedBytes + unreadBytes;
}
