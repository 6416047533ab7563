import type { Intervals } from "./intervals.ts";

export interface RangePlace {
  /** The interval that the keyboard is at; undefined: nowhere yet. */
  cursor?: number | undefined;
  range?: Intervals | undefined;
}

/**
 * Where a key leads: the cursor goes through the intervals, and with Shift the range grows or shrinks with it. Undefined
 * for keys that mean nothing here.
 *
 * @param intervals how many there are
 */
export function stepRange(
  key: string,
  isRange: boolean,
  { cursor, range, intervals }: RangePlace & { intervals: number },
): { cursor: number; range: Intervals | undefined } | undefined {
  const from = cursor ?? 0;
  const far = Math.max(1, Math.round(intervals / 10));
  const targets: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - far, PageDown: from + far },
    ...{ Home: 0, End: intervals - 1 },
  };
  if (!Object.hasOwn(targets, key)) return undefined;
  const to = cursor === undefined && !isRange ? from : Math.min(intervals - 1, Math.max(0, targets[key]));
  if (!isRange) return { cursor: to, range };
  // The end of the range that the cursor is not at stays.
  const anchor =
    range === undefined || from < range.from || from >= range.to
      ? from
      : from === range.from
        ? range.to - 1
        : range.from;
  return { cursor: to, range: { from: Math.min(anchor, to), to: Math.max(anchor, to) + 1 } };
}
