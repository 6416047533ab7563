import path from "node:path";
import type { PlaceSuppression } from "../../explain/limits/check-limits.ts";
import { type Limit, limitOfPair, parseLimit } from "../../explain/limits/limit.ts";
import { limitMeasure } from "../../explain/limits/measures.ts";
import type { FilterKey } from "../../explain/limits/place-filter.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { readInput } from "../../names/load/file.ts";
import { readSuppressions } from "../../profile/formats/suppressions/read.ts";
import type { Budget, BudgetSuppression } from "../../profile/model/budget.ts";
import type { Suppression } from "../../profile/model/suppression.ts";
import { loadSuppressions } from "../suppressions.ts";

/** A limit, and where and why it was set. */
export interface GivenLimit {
  readonly limit: Limit;
  readonly reason?: string | undefined;
  readonly written?: { readonly file: string; readonly line: number } | undefined;
}

/** What a run is to keep. */
export interface GivenLimits {
  readonly limits: readonly GivenLimit[];
  readonly baseline?: string | undefined;
  /** Leaks that nobody wants to be told of. */
  readonly leaks: readonly Suppression[];
  readonly places: readonly PlaceSuppression[];
}

/**
 * The limits of a budget file.
 *
 * @throws UserError with the file and the line of what is wrong
 */
export async function loadBudget(file: string): Promise<GivenLimits> {
  // Only those who have a budget need YAML.
  const { readBudget } = await import("../../profile/formats/budget/read-budget.ts");
  const budget = readBudget(textOf(file), file);
  const besides = (name: string) => path.join(path.dirname(file), name);
  return {
    limits: budget.limits.map(givenLimit),
    baseline: budget.baseline === undefined ? undefined : path.resolve(path.dirname(file), budget.baseline),
    leaks: budget.suppressions.flatMap((suppression) => leaksOf(suppression, besides)),
    places: budget.suppressions.flatMap(placesOf),
  };
}

function textOf(file: string): string {
  try {
    return readInput(file).toString("utf8");
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

function givenLimit({ limit: written, reason, place }: Budget["limits"][number]): GivenLimit {
  return explained(place, () => {
    const limit = typeof written === "string" ? parseLimit(written) : limitOfPair(...written);
    limitMeasure(limit.measure);
    const colon = place.lastIndexOf(":");
    return { limit, reason, written: { file: place.slice(0, colon), line: Number(place.slice(colon + 1)) } };
  });
}

function leaksOf(
  { from, leak, reason, place }: BudgetSuppression,
  besides: (name: string) => string,
): Suppression[] {
  if (from !== undefined) return loadSuppressions([besides(from)]);
  if (leak === undefined) return [];
  return readSuppressions(`leak:${leak.replaceAll(/\r?\n/g, " ")}`, place).map((one) => ({
    ...one,
    reason,
    place,
  }));
}

function placesOf({ places, measures, reason, place }: BudgetSuppression): PlaceSuppression[] {
  if (places === undefined) return [];
  explained(place, () => measures?.forEach(limitMeasure));
  const filters = Object.entries(places).map(([key, glob]) => ({ key: key as FilterKey, glob }));
  return [{ measures, filters, reason: reason!, place }];
}

function explained<T>(place: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${place}: ${error.message}`) : error;
  }
}
