import { UserError } from "../../ground/bytes/errors.ts";
import { parseAmount } from "../analyses/amount.ts";
import { findMeasure, isAdditive, MEASURES } from "../measures/index.ts";
import type { Measure } from "../measures/measure.ts";
import { someMeasures } from "../measures/some-measures.ts";
import { type Change, isTotalWithinSpread, type OldAndNew } from "./changes.ts";

/** Limit for the growth of a total: `bytes+10%`, `peak+1MiB`, `left+0`. */
export interface GrowthLimit {
  readonly text: string;
  readonly measure: Measure;
  readonly amount: number;
  readonly isPercent: boolean;
}

export function parseGrowthLimit(text: string): GrowthLimit {
  const [, name = "", number = ""] = /^([a-z-]+)\+(.+)$/.exec(text) ?? [];
  const measure = findMeasure(name, "diff");
  const amount = parseAmount(number);
  const ids = MEASURES.filter(isAdditive).map(({ id }) => id);
  if (measure === undefined || typeof measure.combine === "object" || amount === undefined)
    throw new UserError(
      `--fail-on takes one of ${someMeasures(ids, "diff")} and how much it may grow, such as bytes+10% or peak+1MiB, not "${text}"`,
    );
  return { text, measure, amount: amount.value, isPercent: amount.isPercent };
}

/**
 * Returns the totals of a limit that is exceeded by more than the spread of several runs. @throws UserError if the
 * profiles do not know them
 */
export function exceededTotals(
  changes: readonly Pick<Change<{ readonly id: string }>, "measure" | "total" | "spread">[],
  limit: GrowthLimit,
): OldAndNew | undefined {
  const { id } = limit.measure;
  const change = changes.find(({ measure }) => measure.id === id);
  if (change === undefined)
    throw new UserError(`--fail-on ${limit.text}: the profiles do not both have ${id}`);
  const { old, new: now } = change.total;
  const most = limit.isPercent ? old + (old * limit.amount) / 100 : old + limit.amount;
  return now > most && !isTotalWithinSpread(change) ? change.total : undefined;
}
