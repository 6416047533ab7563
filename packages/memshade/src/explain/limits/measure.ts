import type { RecordedTools } from "../analyses/recorded-tools.ts";
import type { Measure, MeasureUnit } from "../measures/measure.ts";
import type { MeasuredTool } from "../measures/measured-stacks.ts";
import type { MeasuredPlace } from "./measured-place.ts";

export interface PlaceAmount {
  readonly place: MeasuredPlace;
  readonly amount: number;
}

export interface Measured {
  readonly amount: number;
  readonly places: readonly PlaceAmount[];
  readonly isLowerBound?: boolean | undefined;
  /** Place of the program at that time, for measures without places. */
  readonly at?: MeasuredPlace | undefined;
}

/** Returns true for a place that counts; undefined: all places count, and amounts without a place. */
export type Chosen = ((place: MeasuredPlace) => boolean) | undefined;

/** Measure for limits: a measure of the table, or a number of findings. */
export interface LimitMeasure
  extends Pick<
    Measure,
    "id" | "figures" | "meaning" | "partOf" | "needs" | "needsForPlaces" | "unknown" | "differs"
  > {
  readonly also: readonly string[];
  readonly tool: MeasuredTool | "findings";
  readonly unit: MeasureUnit | "findings";
  /** Returns undefined if the run has not recorded it. */
  readonly measure: (run: RecordedTools, chosen: Chosen) => Measured | undefined;
}

/** Sums amounts over places. @param rest amount of the run at no place */
export function added(places: readonly PlaceAmount[], chosen: Chosen, rest = 0): Measured {
  const chosenPlaces = chosen === undefined ? places : places.filter(({ place }) => chosen(place));
  const sum = chosenPlaces.reduce((total, { amount }) => total + amount, 0);
  return { amount: chosen === undefined ? sum + rest : sum, places: chosenPlaces };
}
