// Rows of the Sites view: sums of every figure per group, filtered and sorted.

import type { PageRatio } from "../../data/page-data.ts";
import type { PageState } from "../state.ts";
import type { Figure } from "./figures.ts";
import type { Grouping } from "./grouping.ts";
import type { PageModel } from "./page-model.ts";
import { rowName } from "./row-name.ts";

/** Id of the name column; no weight has this id. */
export const NAME = "#name";

/** A column of numbers: a figure or a ratio. */
export interface FigureColumn {
  readonly id: string;
  readonly figure?: Figure | undefined;
  readonly ratio?: PageRatio | undefined;
  /** Values by row of the grouping. NaN if a ratio is undefined. */
  readonly values: Float64Array;
  /** Largest absolute value. */
  readonly most: number;
}

export interface SiteRows {
  readonly grouping: Grouping;
  /** Columns with values. */
  readonly columns: readonly FigureColumn[];
  /** Rows of the grouping that match the filter, sorted. */
  readonly order: Int32Array;
  /** Id of the column that determines the order. */
  readonly sort: string;
}

export function siteRows(model: PageModel, state: PageState): SiteRows {
  const grouping = model.grouping(state);
  const matches = model.matches(state);
  const figures = model
    .figures(state)
    .map((figure): FigureColumn => {
      const values = sumRows(grouping, figure.values, matches);
      return { id: figure.id, figure, values, most: most(values) };
    })
    .filter(({ most }) => most > 0);
  const ratios = model.data.ratios.flatMap((ratio) => {
    const dividend = figures.find(({ id }) => id === ratio.of);
    const by = figures.find(({ id }) => id === ratio.by);
    if (!dividend || !by || dividend.figure!.isWholeRun !== by.figure!.isWholeRun) return [];
    const values = dividend.values.map((value, row) => {
      const part = value / by.values[row];
      return ratio.isRest ? 1 - part : part;
    });
    return [{ id: ratio.id, ratio, values, most: most(values) }];
  });
  const columns = [...figures, ...ratios];
  const sort =
    state.sort === NAME
      ? NAME
      : ([state.sort, model.weight(state)?.id].find((id) => columns.some((column) => column.id === id)) ??
        columns[0]?.id ??
        NAME);
  return { grouping, columns, order: orderOf(model, state, { grouping, columns, sort }), sort };
}

function orderOf(
  model: PageModel,
  state: PageState,
  { grouping, columns, sort }: Omit<SiteRows, "order">,
): Int32Array {
  const { figures } = model.filter(state);
  const tests = figures.map(({ weight, isShare, isWanted, matches }) => {
    const column = columns.find(({ id }) => id === weight);
    const scale = isShare ? Math.abs(column?.figure?.total ?? 0) || 1 : 1;
    return (row: number) => matches((column?.values[row] ?? 0) / scale) === isWanted;
  });
  const rows = Array.from(grouping.frames.keys()).filter(
    (row) =>
      columns.some(({ values }) => values[row] > 0 || values[row] < 0) && tests.every((test) => test(row)),
  );
  if (sort === NAME) {
    const names = Array.from(grouping.frames, (frame) => {
      const { name, place } = rowName(model.names, frame, grouping.group);
      return `${name} ${place}`;
    });
    rows.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
  } else {
    const { values } = columns.find(({ id }) => id === sort)!;
    // Differences are sorted by absolute value; rows without a number come last.
    const size = (row: number) => (Number.isNaN(values[row]) ? -1 : Math.abs(values[row]));
    rows.sort((a, b) => size(b) - size(a) || a - b);
  }
  // Default order: names from A, numbers from the largest.
  return Int32Array.from(state.ascending === (sort === NAME) ? rows : rows.reverse());
}

/** Returns the sum of the matching contexts of each row. */
export function sumRows(
  { rowOf, frames }: Grouping,
  values: Float64Array,
  matches?: Uint8Array,
): Float64Array {
  const sums = new Float64Array(frames.length);
  for (let context = 0; context < values.length; context++)
    if (values[context] !== 0 && rowOf[context] >= 0 && matches?.[context] !== 0)
      sums[rowOf[context]] += values[context];
  return sums;
}

function most(values: Float64Array): number {
  let largest = 0;
  for (const value of values)
    if (Number.isFinite(value) && Math.abs(value) > largest) largest = Math.abs(value);
  return largest;
}
