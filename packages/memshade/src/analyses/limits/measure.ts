import type { RecordedTools } from "../findings/run-findings.ts";
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
  /** Where the program was, for what is not known by place. */
  readonly at?: MeasuredPlace | undefined;
}

/** Whether a place counts; undefined: all do, and what has no place too. */
export type Chosen = ((place: MeasuredPlace) => boolean) | undefined;

export type MeasureTool = "heap" | "waste" | "workingset" | "objects" | "findings";

/** What limits can be set for. */
export interface Measure {
  readonly word: string;
  /** Another word for it. */
  readonly also?: string | undefined;
  readonly tool: MeasureTool;
  /** "clock": units of the heap's clock. */
  readonly unit:
    | "bytes"
    | "blocks"
    | "accesses"
    | "stores"
    | "loads"
    | "misses"
    | "findings"
    | "accessesPerByte"
    | "clock";
  /** How it is computed. */
  readonly what: string;
  /** Of which measure limits in percent are a part; of its own for the part of the whole run. Undefined: none. */
  readonly partOf?: string | undefined;
  /** What a run needs to have it, as the end of a sentence. */
  readonly needs: string;
  /** What only limits of chosen places need beside that. */
  readonly needsForPlaces?: string | undefined;
  /** Why a run that was recorded as it has to be does not have it all the same; undefined: it has. */
  readonly unknown?: ((run: RecordedTools) => string | undefined) | undefined;
  /** Why two runs cannot be compared by it; undefined: they can. */
  readonly differs?: ((older: RecordedTools, newer: RecordedTools) => string | undefined) | undefined;
  /** Undefined where the run has not recorded it. */
  readonly measure: (run: RecordedTools, chosen: Chosen) => Measured | undefined;
}

/** What adds up over places. `whole`: of the run, where that counts more than its places. */
export function added(places: readonly PlaceAmount[], chosen: Chosen, whole?: number): Measured {
  const those = chosen === undefined ? places : places.filter(({ place }) => chosen(place));
  const sum = those.reduce((total, { amount }) => total + amount, 0);
  return { amount: chosen === undefined ? (whole ?? sum) : sum, places: those };
}
