// What is known of call paths that were merged.
import { counted } from "../../../../../profile/model/counted.ts";
import type { PageData, PageThroughMerged } from "../../data/page-data.ts";
import { formatCount } from "../parts/amounts.ts";
import type { Figure } from "./figures.ts";

/** How what stands for their callers is called. */
export function othersName(paths: number | undefined): string {
  return paths === undefined || paths === 0 ? "others, merged" : `others, ${formatCount(paths)} merged`;
}

/** What lines and files have of a figure on merged call paths beside what the contexts tell; undefined: nothing, or nobody knows. */
export function missingOf(
  { throughMerged, weights }: PageData,
  { id, values }: Figure,
): PageThroughMerged["columns"][number] | undefined {
  return isOfWholeRun(weights, values)
    ? throughMerged?.columns.find(({ weight }) => weight === id)
    : undefined;
}

/** Why sums of lines with all calls are without what merged call paths have; undefined: they are not. */
export function notThrough(
  { head, kind, weights }: PageData,
  figure: Figure | undefined,
): string | undefined {
  if (head.merged === undefined || figure === undefined) return undefined;
  const paths = counted(head.merged.contexts, "call path");
  if (kind !== "diff" && isOfWholeRun(weights, figure.values))
    return figure.deviations === undefined
      ? undefined
      : `The ± of lines with calls is without that of ${paths} which were merged.`;
  const where = kind === "diff" ? "a comparison" : "a range of time";
  return `Lines with calls are without what ${paths} have that were merged: in ${where}, nobody knows their callers.`;
}

function isOfWholeRun(weights: PageData["weights"], values: Float64Array): boolean {
  return weights.some((weight) => weight.values === values);
}
