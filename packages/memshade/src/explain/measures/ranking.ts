import { entryOf } from "../../ground/bytes/entries.ts";
import { NONE } from "../../profile/model/indices.ts";
import type { GroupBy } from "../analyses/groups.ts";
import { isAdditive, measure } from "./index.ts";
import type { Measure, MeasuredProfiles } from "./measure.ts";
import {
  framesOf,
  type MeasuredFrame,
  type MeasuredStacks,
  placePath,
  type RowGroups,
} from "./measured-stacks.ts";
import { TOOLS } from "./tools.ts";

/** Groups rows by the visible attributes of their places; sites also by the created type. */
export function groupRows(measured: MeasuredStacks, by: GroupBy): RowGroups {
  const { stacks, rows: rowStacks, sites, labels } = measured;
  const groupOf = new Int32Array(rowStacks.length);
  const rows: number[][] = [];
  const numbers = new Map<string, number>();
  for (let row = 0; row < rowStacks.length; row++) {
    const site = sites[row] === NONE ? rowStacks[row]! : sites[row]!;
    const path = by === "path" ? placePath(measured, row) : framesOf(stacks, site).slice(0, 1);
    const key = `${by === "function" ? "" : labels?.[row]}\n${path.map((frame) => placeKey(frame, by)).join("\n")}`;
    const group = entryOf(numbers, key, () => rows.push([]) - 1);
    groupOf[row] = group;
    rows[group]!.push(row);
  }
  return { by, length: rows.length, groupOf, rows };
}

function placeKey(frame: MeasuredFrame, by: GroupBy): string {
  const { function: name, module, moduleIndex, isNameless, file, line, address, isWord } = frame;
  const own = `${name} ${module} ${isNameless ? moduleIndex : ""} ${isWord}`;
  return by === "function" ? own : `${own} ${file} ${line} ${line === undefined ? address : ""}`;
}

export interface Amounts {
  readonly values: Float64Array;
  readonly rest: number;
}

/** Returns undefined if the run has not recorded the measure, or only its total. */
export function amountsOf(
  { combine, column }: Measure,
  profiles: MeasuredProfiles,
  { length, groupOf }: Pick<RowGroups, "length" | "groupOf">,
): Amounts | undefined {
  if (typeof combine === "object") {
    const [over, under] = [combine.of, combine.by].map((id) =>
      amountsOf(measure(id), profiles, { length, groupOf }),
    );
    if (over === undefined || under === undefined) return undefined;
    const values = over.values.map((value, group) => {
      const by = under.values[group]!;
      return by === 0 ? 0 : combine.isRest === true ? 1 - value / by : value / by;
    });
    return { values, rest: 0 };
  }
  const found = column(profiles);
  if (found === undefined || found.isUnplaced === true) return undefined;
  const values = new Float64Array(length);
  const { amounts, rest = 0 } = found;
  for (let row = 0; row < amounts.length; row++) {
    const group = groupOf[row]!;
    const amount = Number(amounts[row]);
    values[group] = combine === "sum" ? values[group]! + amount : Math.max(values[group]!, amount);
  }
  return { values, rest };
}

export function wholeOf(measured: Measure, profiles: MeasuredProfiles): number | undefined {
  const { combine, column } = measured;
  if (typeof combine === "object") {
    const [over, under] = [combine.of, combine.by].map((id) => wholeOf(measure(id), profiles));
    if (over === undefined || under === undefined) return undefined;
    if (under === 0) return 0;
    return combine.isRest === true ? 1 - over / under : over / under;
  }
  const found = column(profiles);
  if (found === undefined) return undefined;
  let whole = combine === "sum" ? (found.rest ?? 0) : 0;
  for (let row = 0; row < found.amounts.length; row++) {
    const amount = Number(found.amounts[row]);
    whole = combine === "sum" ? whole + amount : Math.max(whole, amount);
  }
  return whole;
}

export type Order = "largest" | "smallest";

export interface Ranking {
  readonly measure: Measure;
  readonly order: Order;
  readonly groups: RowGroups;
  readonly ranked: readonly number[];
  readonly values: Float64Array;
  readonly rest: number;
  readonly total: number | undefined;
  readonly beside: readonly { readonly measure: Measure; readonly values: Float64Array }[];
}

function groupsOf({ tool }: Measure, profiles: MeasuredProfiles, by: GroupBy): RowGroups | undefined {
  const { groups, stacks } = TOOLS[tool];
  if (groups !== undefined) return groups(profiles, by);
  const rows = stacks(profiles);
  return rows && groupRows(rows, by);
}

/** Returns undefined if the run has not recorded the measure by place. */
export function rankMeasure(
  measured: Measure,
  profiles: MeasuredProfiles,
  by: GroupBy = "site",
  order: Order = "largest",
): Ranking | undefined {
  const groups = groupsOf(measured, profiles, by);
  if (groups === undefined) return undefined;
  const amounts = amountsOf(measured, profiles, groups);
  if (amounts === undefined) return undefined;
  const { values, rest } = amounts;
  // A ratio may be 0 although its divisor is not.
  const parts =
    typeof measured.combine === "object"
      ? amountsOf(measure(measured.combine.by), profiles, groups)!.values
      : values;
  const ranked = rank(values, order).filter((group) => parts[group]! > 0);
  const beside = (measured.beside ?? []).flatMap((id) => {
    const other = measure(id);
    const otherAmounts = amountsOf(other, profiles, groups);
    return otherAmounts === undefined ? [] : [{ measure: other, values: otherAmounts.values }];
  });
  const total = isAdditive(measured)
    ? values.reduce((sum, value) => sum + value, Math.max(0, rest))
    : undefined;
  return { measure: measured, order, groups, ranked, values, rest, total, beside };
}

/**
 * Returns the indices of the values, largest first (or smallest first); equal values keep their order. The order
 * "largest" leaves out zeros, because such places have no part in the ranking.
 */
export function rank(values: Float64Array, order: Order = "largest"): number[] {
  const indices = Array.from(values.keys());
  return order === "largest"
    ? indices.filter((index) => values[index]! > 0).sort((a, b) => values[b]! - values[a]!)
    : indices.sort((a, b) => values[a]! - values[b]!);
}
