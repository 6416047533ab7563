import {
  type Change,
  isTotalWithinSpread,
  isWithinSpread,
  type Range,
  rankChanges,
} from "../../../explain/diff/changes.ts";

type KeyedChange = Change<{ readonly id: string }>;

interface Compared<Side> {
  readonly pairs: readonly { readonly old?: Side | undefined; readonly new?: Side | undefined }[];
  readonly changes: readonly KeyedChange[];
  /** The one that rows are ranked by. */
  readonly by: KeyedChange;
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
    totals: Object.fromEntries(changes.map((change) => [change.measure.id, totalJson(change)])),
    rows: ranking.slice(0, most).map((row) => {
      const pair = pairs[row]!;
      return {
        kind: pair.old === undefined ? "new" : pair.new === undefined ? "gone" : "changed",
        change: by.new[row]! - by.old[row]!,
        values: Object.fromEntries(changes.map((change) => [change.measure.id, valueJson(change, row)])),
        old: sideOf("old", pair.old),
        new: sideOf("new", pair.new),
      };
    }),
    rowsOmitted: Math.max(0, ranking.length - most),
    unchanged: pairs.length - ranking.length,
  };
}

/** Medians of several runs have the smallest and largest value of each side, and whether the change is within these. */
function totalJson(change: KeyedChange) {
  const { total, spread } = change;
  if (spread === undefined) return total;
  const { old: oldRange, new: newRange } = spread.total;
  return { ...total, oldRange, newRange, isWithinSpread: isTotalWithinSpread(change) };
}

function valueJson(change: KeyedChange, row: number) {
  const { old, new: now, spread } = change;
  const value = { old: old[row], new: now[row] };
  if (spread === undefined) return value;
  const rangeOf = ({ low, high }: Range) => [low[row], high[row]];
  return {
    ...value,
    oldRange: rangeOf(spread.old),
    newRange: rangeOf(spread.new),
    isWithinSpread: isWithinSpread(change, row),
  };
}
