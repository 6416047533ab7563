import { UserError } from "../../ground/bytes/errors.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { diffPlaces, type PlaceMeasure, PlaceSums, type PlaceTable } from "../diff/place-diff.ts";
import type { PlaceFrame } from "../findings/finding-kind.ts";
import type { Limit, Relation } from "./limit.ts";
import {
  boundsOfMeasure,
  boundsOfRun,
  compareRange,
  limitMeasure,
  type Range,
  type RunFacts,
  rangeOf,
} from "./limit-measures.ts";
import type { Chosen, LimitMeasure, Measured, PlaceAmount } from "./measure.ts";
import type { MeasuredPlace } from "./measured-place.ts";
import { choosesPlace, type PlaceFilter } from "./place-filter.ts";

export interface CheckedRun {
  readonly name: string;
  readonly tools: RecordedTools;
  readonly facts?: RunFacts | undefined;
}

export interface PlaceSuppression {
  readonly measures?: readonly string[] | undefined;
  readonly filters: readonly PlaceFilter[];
  readonly reason: string;
  /** Position of the suppression: `budget.yaml:7`. */
  readonly place: string;
}

export interface Contributor {
  readonly place: MeasuredPlace;
  readonly amount: number;
  /** Amount in the baseline, if the limit has one. */
  readonly before?: number | undefined;
}

/** Limit and the run's figures. Amounts are in the measure's unit. */
export interface CheckedLimit {
  readonly limit: Limit;
  readonly measure: LimitMeasure;
  /** True if the limit holds, whatever may be missing in the figures. */
  readonly passed: boolean;
  /** Reasons why the result is unknown, as ends of sentences; empty if it is known. */
  readonly undecided: readonly string[];
  /** Range of the run's true value: a single value if it was counted. */
  readonly range: Range;
  readonly value: number;
  /** Compared value, with percentages converted. */
  readonly allowed: number;
  readonly whole?: number | undefined;
  readonly baseline?: number | undefined;
  readonly most?: Contributor | undefined;
  /** True if the filters choose any place; undefined without filters. */
  readonly choosesAny?: boolean | undefined;
  readonly suppressed: readonly { readonly suppression: PlaceSuppression; readonly amount: number }[];
}

/**
 * Compares a run with limits.
 *
 * @throws UserError if a limit cannot be decided: its measure is unknown or was not recorded, or there is no baseline
 */
export function checkLimits(
  run: CheckedRun,
  limits: readonly Limit[],
  {
    baseline,
    suppressions = [],
  }: { baseline?: CheckedRun | undefined; suppressions?: readonly PlaceSuppression[] } = {},
): CheckedLimit[] {
  return limits.map((limit) => new LimitCheck(limit, suppressions).result(run, baseline));
}

class LimitCheck {
  readonly #limit: Limit;
  readonly #measure: LimitMeasure;
  readonly #suppressions: readonly PlaceSuppression[];

  constructor(limit: Limit, suppressions: readonly PlaceSuppression[]) {
    this.#limit = limit;
    this.#measure = limitMeasure(limit.measure);
    this.#suppressions = suppressions.filter(
      ({ measures }) =>
        measures === undefined || measures.some((word) => limitMeasure(word) === this.#measure),
    );
    const { unit, id } = this.#measure;
    if (limit.filters.some(({ key }) => key === "kind") && unit !== "findings")
      throw new UserError(`"${limit.text}": only findings have a kind, ${id} has none`);
  }

  result(run: CheckedRun, baseline: CheckedRun | undefined): CheckedLimit {
    const { amount, from, relation, text } = this.#limit;
    const now = this.#count(this.#measure, run);
    if (from === undefined) {
      const whole = amount.isPercent ? this.#whole(run) : undefined;
      const parts = whole === undefined ? undefined : wholeRange(whole, amount.value);
      const allowed = parts ?? { least: amount.value, most: amount.value };
      // A part of 0 is 0 percent.
      const holds =
        whole?.range.most === 0
          ? compare(0, relation, amount.value)
          : compareRange(now.range, relation, allowed);
      return {
        ...this.#common(now),
        ...decision(holds, [...now.because, ...(whole?.because ?? [])]),
        allowed: whole === undefined ? amount.value : (whole.value * amount.value) / 100,
        whole: whole?.value,
        most: most(now),
      };
    }
    if (baseline === undefined)
      throw new UserError(`"${text}" is relative to a baseline: give one with --baseline RUN`);
    const differs = this.#measure.differs?.(baseline.tools, run.tools);
    if (differs !== undefined)
      throw new UserError(`"${text}" cannot be compared with ${baseline.name}: ${differs}`);
    const before = this.#count(this.#measure, baseline);
    const stepped = (value: number): number => {
      const step = amount.isPercent ? (value * amount.value) / 100 : amount.value;
      return from === "above" ? value + step : value - step;
    };
    const ends = [stepped(before.range.least), stepped(before.range.most)];
    const allowed = { least: Math.min(...ends), most: Math.max(...ends) };
    // Growth limits allow an unchanged value, even if it is 0.
    const isUnchanged =
      from === "above" &&
      amount.value > 0 &&
      relation === "<" &&
      compareRange(now.range, "<=", before.range) === true;
    return {
      ...this.#common(now),
      ...decision(isUnchanged || compareRange(now.range, relation, allowed), [
        ...now.because,
        ...before.because.map((reason) => `${reason} (${baseline.name})`),
      ]),
      allowed: stepped(before.value),
      baseline: before.value,
      most: grewMost(before.places, now.places) ?? most(now),
    };
  }

  #common(
    now: Counted,
  ): Pick<CheckedLimit, "limit" | "measure" | "value" | "range" | "choosesAny" | "suppressed"> {
    const { value, range, choosesAny, suppressed } = now;
    return { limit: this.#limit, measure: this.#measure, value, range, choosesAny, suppressed };
  }

  #whole(run: CheckedRun): Known {
    const { partOf, id, unit } = this.#measure;
    if (partOf === undefined)
      throw new UserError(`"${this.#limit.text}": ${id} cannot be limited in %: give an amount in ${unit}`);
    const wholeMeasure = limitMeasure(partOf);
    const chosen = wholeMeasure === this.#measure ? undefined : this.#chosen();
    return this.#bounded(wholeMeasure, run, this.#measured(wholeMeasure, run, chosen), chosen);
  }

  #bounded(
    measure: LimitMeasure,
    { tools, facts = {} }: CheckedRun,
    { amount, isLowerBound }: Measured,
    chosen: Chosen,
  ): Known {
    const bounds = boundsOfMeasure(measure, boundsOfRun(tools, facts), chosen !== undefined);
    const { least, most } = rangeOf(amount, measure, bounds);
    return {
      value: amount,
      range: { least, most: isLowerBound === true ? Number.POSITIVE_INFINITY : most },
      because: [
        ...new Set(bounds.map(({ because }) => because)),
        ...(isLowerBound === true
          ? [`the profile tells only that there is at least so much ${measure.id}`]
          : []),
      ],
    };
  }

  #chosen(): Chosen {
    const { filters } = this.#limit;
    return filters.length === 0 ? undefined : (place) => choosesPlace(filters, place);
  }

  #count(measure: LimitMeasure, run: CheckedRun): Counted {
    const chosen = this.#chosen();
    const total = this.#measured(measure, run, chosen);
    const amounts = this.#suppressions.map(() => 0);
    if (amounts.length === 0)
      return {
        ...total,
        ...this.#bounded(measure, run, total, chosen),
        suppressed: [],
        choosesAny: chosen && total.places.length > 0,
      };
    const isSuppressed = (place: MeasuredPlace) =>
      this.#suppressions.findIndex(({ filters }) => choosesPlace(filters, place));
    const included: PlaceAmount[] = [];
    for (const each of total.places) {
      const by = isSuppressed(each.place);
      if (by < 0) included.push(each);
      else amounts[by]! += each.amount;
    }
    const taken = amounts.reduce((sum, amount) => sum + amount, 0);
    return {
      ...this.#bounded(measure, run, { ...total, amount: total.amount - taken }, chosen),
      places: included,
      at: total.at,
      suppressed: this.#suppressions
        .map((suppression, index) => ({ suppression, amount: amounts[index]! }))
        .filter(({ amount }) => amount > 0),
      choosesAny: chosen && total.places.length > 0,
    };
  }

  #measured(measure: LimitMeasure, { tools, name }: CheckedRun, chosen: Chosen): Measured {
    const unknown = measure.unknown?.(tools);
    if (unknown !== undefined)
      throw new UserError(`"${this.#limit.text}": ${name} does not have ${measure.id}: ${unknown}`);
    const measured = measure.measure(tools, chosen);
    if (measured !== undefined) return measured;
    const { needs, needsForPlaces, id } = measure;
    const isWholeKnown = chosen !== undefined && measure.measure(tools, undefined) !== undefined;
    throw new UserError(
      isWholeKnown && needsForPlaces !== undefined
        ? `"${this.#limit.text}": ${name} does not have ${id} by place: it takes ${needsForPlaces}`
        : `"${this.#limit.text}": ${name} does not have ${id}: it takes ${needs}`,
    );
  }
}

interface Known {
  readonly value: number;
  readonly range: Range;
  readonly because: readonly string[];
}

function wholeRange({ range: { least, most } }: Known, percent: number): Range {
  return { least: (least * percent) / 100, most: (most * percent) / 100 };
}

function decision(
  holds: boolean | undefined,
  because: readonly string[],
): Pick<CheckedLimit, "passed" | "undecided"> {
  return { passed: holds === true, undecided: holds === undefined ? [...new Set(because)] : [] };
}

interface Counted extends Known, Pick<Measured, "places" | "at"> {
  readonly suppressed: CheckedLimit["suppressed"];
  readonly choosesAny: boolean | undefined;
}

function compare(value: number, relation: Relation, allowed: number): boolean {
  switch (relation) {
    case "<":
      return value < allowed;
    case "<=":
      return value <= allowed;
    case "=":
      return value === allowed;
    case ">=":
      return value >= allowed;
    case ">":
      return value > allowed;
  }
}

const AMOUNT: PlaceMeasure = { id: "amount", combine: "sum" };

/** Groups amounts by site: contexts with the same line are one. */
function sitesOf(amounts: readonly PlaceAmount[]): {
  table: PlaceTable;
  placeOf: ReadonlyMap<PlaceFrame, MeasuredPlace>;
} {
  const sums = new PlaceSums([AMOUNT], "site");
  const placeOf = new Map<PlaceFrame, MeasuredPlace>();
  for (const { place, amount } of amounts) {
    const [own] = place.path;
    if (own === undefined || amount === 0) continue;
    sums.add(place.path, [amount]);
    if (!placeOf.has(own)) placeOf.set(own, place);
  }
  return { table: sums.table(), placeOf };
}

function most({ value, places, at }: Counted): Contributor | undefined {
  const { table, placeOf } = sitesOf(places);
  const amountOf = ({ values }: { readonly values: readonly number[] }) => values[0]!;
  const best = table.places.reduce<(typeof table.places)[number] | undefined>(
    (largest, place) => (largest === undefined || amountOf(place) > amountOf(largest) ? place : largest),
    undefined,
  );
  if (best !== undefined) return { place: placeOf.get(best.path[0]!)!, amount: amountOf(best) };
  return at?.path[0] === undefined ? undefined : { place: at, amount: value };
}

function grewMost(before: readonly PlaceAmount[], now: readonly PlaceAmount[]): Contributor | undefined {
  const [old, fresh] = [sitesOf(before), sitesOf(now)];
  const { pairs, changes } = diffPlaces([old.table], [fresh.table]);
  const { old: oldAmounts, new: newAmounts } = changes[0]!;
  const growth = (pair: number) => newAmounts[pair]! - oldAmounts[pair]!;
  const largest = pairs.reduce(
    (best, _, pair) => (best < 0 || growth(pair) > growth(best) ? pair : best),
    -1,
  );
  const site = pairs[largest]?.new;
  if (site === undefined || growth(largest) <= 0) return undefined;
  const place = fresh.placeOf.get(fresh.table.places[site]!.path[0]!)!;
  return { place, amount: newAmounts[largest]!, before: oldAmounts[largest]! };
}
