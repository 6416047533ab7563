import { UserError } from "../../bytes/errors.ts";
import { parseAmount } from "../limits/amount.ts";
import { METRICS, type MetricKey } from "../metrics.ts";
import { isTotalWithinSpread, type OldAndNew, type Spread } from "./changes.ts";
import { WASTE_DIFF_KEYS } from "./waste-places.ts";
import { WORKING_SET_DIFF_KEYS } from "./working-set-places.ts";

/** How much a total may grow: `bytes+10%`, `peak+1MiB`, `live+0`. */
export interface GrowthLimit {
  readonly text: string;
  /** Of any tool. */
  readonly key: string;
  readonly amount: number;
  /** Whether the amount is one in a hundred of the older total. */
  readonly isPercent: boolean;
}

const HEAP_KEYS: readonly MetricKey[] = METRICS.filter(({ isAdditive }) => isAdditive).map(({ key }) => key);
const KEYS: readonly string[] = [...HEAP_KEYS, ...WASTE_DIFF_KEYS, ...WORKING_SET_DIFF_KEYS];

/** @throws UserError if it is none */
export function parseGrowthLimit(text: string): GrowthLimit {
  const [, name, number = ""] = /^([a-z-]+)\+(.+)$/.exec(text) ?? [];
  const key = KEYS.find((known) => known === name);
  const amount = parseAmount(number);
  if (key === undefined || amount === undefined) {
    throw new UserError(
      `--fail-on takes one of ${KEYS.join(", ")} and how much it may grow, such as bytes+10% or peak+1MiB, not "${text}"`,
    );
  }
  return { text, key, amount: amount.value, isPercent: amount.isPercent };
}

/** The totals of a limit that is exceeded by more than the spread of several runs. @throws UserError if the profiles do not know them */
export function exceededTotals(
  changes: readonly {
    readonly metric: { readonly key: string };
    readonly total: OldAndNew;
    readonly spread?: Spread | undefined;
  }[],
  limit: GrowthLimit,
): OldAndNew | undefined {
  const change = changes.find(({ metric }) => metric.key === limit.key);
  if (change === undefined) {
    throw new UserError(`--fail-on ${limit.text}: ${limit.key} is not known in both profiles`);
  }
  const { old, new: now } = change.total;
  const most = limit.isPercent ? old + (old * limit.amount) / 100 : old + limit.amount;
  return now > most && !isTotalWithinSpread(change) ? change.total : undefined;
}
