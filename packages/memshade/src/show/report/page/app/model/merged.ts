import { counted } from "../../../../../profile/model/counted.ts";
import type { PageData, PageThroughMerged } from "../../data/page-data.ts";
import { formatCount } from "../parts/amounts.ts";
import type { Figure } from "./figures.ts";

/** Returns the name of the frame that represents merged callers. */
export function othersName(paths: number | undefined): string {
  return paths === undefined || paths === 0 ? "others, merged" : `others, ${formatCount(paths)} merged`;
}

/**
 * Returns the amounts of lines and files on merged call paths, which the contexts lack; undefined if there
 * are none or if they are unknown.
 */
export function missingOf(
  { throughMerged, weights }: PageData,
  { id, values }: Figure,
): PageThroughMerged["columns"][number] | undefined {
  return isOfWholeRun(weights, values)
    ? throughMerged?.columns.find(({ weight }) => weight === id)
    : undefined;
}

/**
 * Returns the reason why sums of lines with calls exclude merged call paths; undefined if they include them.
 */
export function notThrough(
  { head, kind, weights }: PageData,
  figure: Figure | undefined,
): string | undefined {
  if (head.merged === undefined || figure === undefined) return undefined;
  const paths = counted(head.merged.contexts, "call path");
  if (kind !== "diff" && isOfWholeRun(weights, figure.values))
    return figure.deviations === undefined
      ? undefined
      : `The ± of lines with calls excludes ${paths} that were merged.`;
  const scope = kind === "diff" ? "a comparison" : "a range of time";
  return `Lines with calls exclude ${paths} that were merged: their callers are unknown in ${scope}.`;
}

function isOfWholeRun(weights: PageData["weights"], values: Float64Array): boolean {
  return weights.some((weight) => weight.values === values);
}
