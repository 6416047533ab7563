import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Measure, MeasureUnit } from "../measures/measure.ts";
import type { MeasuredTool } from "../measures/measured-stacks.ts";
import type { MeasuredPlace } from "./measured-place.ts";

/** How much of a measure is at a place. */
export interface PlaceAmount {
  readonly place: MeasuredPlace;
  readonly amount: number;
}

/** A measure of a run, or of the places that were chosen. */
export interface Measured {
  readonly amount: number;
  /** Where it is. */
  readonly places: readonly PlaceAmount[];
  /** There is at least so much, as far as the profile tells. */
  readonly isLowerBound?: boolean | undefined;
  /** Where the program was, for what is not known by place. */
  readonly at?: MeasuredPlace | undefined;
}

/** Whether a place counts; undefined: all do, and what has no place too. */
export type Chosen = ((place: MeasuredPlace) => boolean) | undefined;

/** What limits can be set for: a measure, or the number of findings. */
export interface LimitMeasure
  extends Pick<
    Measure,
    "id" | "figures" | "meaning" | "partOf" | "needs" | "needsForPlaces" | "unknown" | "differs"
  > {
  /** Other words for it. */
  readonly also: readonly string[];
  readonly tool: MeasuredTool | "findings";
  readonly unit: MeasureUnit | "findings";
  /** Undefined where the run has not recorded it. */
  readonly measure: (run: RecordedTools, chosen: Chosen) => Measured | undefined;
}

/** What adds up over places. `rest`: of the run, and at no place. */
export function added(places: readonly PlaceAmount[], chosen: Chosen, rest = 0): Measured {
  const those = chosen === undefined ? places : places.filter(({ place }) => chosen(place));
  const sum = those.reduce((total, { amount }) => total + amount, 0);
  return { amount: chosen === undefined ? sum + rest : sum, places: those };
}
