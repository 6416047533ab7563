import { rankChanges } from "../../analyses/diff/heap-diff.ts";

/** How one figure changed from row to row of a comparison. */
interface Change {
  readonly metric: { readonly key: string };
  readonly total: unknown;
  readonly old: ArrayLike<number>;
  readonly new: ArrayLike<number>;
}

interface Compared<Side> {
  readonly pairs: readonly { readonly old?: Side | undefined; readonly new?: Side | undefined }[];
  readonly changes: readonly Change[];
  /** The one that rows are ranked by. */
  readonly by: Parameters<typeof rankChanges>[0];
  readonly most: number;
  /** What the side of a pair is. */
  describe(side: "old" | "new", value: Side): unknown;
}

/** The totals and rows of a comparison, those with the greatest change first (docs/report-json.md). */
export function diffRowsJson<Side>({ pairs, changes, by, most, describe }: Compared<Side>) {
  const ranking = rankChanges(by);
  const sideOf = (side: "old" | "new", value: Side | undefined) =>
    value === undefined ? null : describe(side, value);
  return {
    totals: Object.fromEntries(changes.map(({ metric, total }) => [metric.key, total])),
    rows: ranking.slice(0, most).map((row) => {
      const pair = pairs[row]!;
      return {
        kind: pair.old === undefined ? "new" : pair.new === undefined ? "gone" : "changed",
        change: by.new[row]! - by.old[row]!,
        values: Object.fromEntries(
          changes.map(({ metric, old, new: now }) => [metric.key, { old: old[row], new: now[row] }]),
        ),
        old: sideOf("old", pair.old),
        new: sideOf("new", pair.new),
      };
    }),
    rowsOmitted: Math.max(0, ranking.length - most),
    unchanged: pairs.length - ranking.length,
  };
}
