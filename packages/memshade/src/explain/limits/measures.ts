import { UserError } from "../../ground/bytes/errors.ts";
import { likeIt, nearest } from "../analyses/nearest-words.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { MEASURES, measure, stacksOf, wordsOf } from "../measures/index.ts";
import type { Measure } from "../measures/measure.ts";
import { findingMeasures } from "./finding-measures.ts";
import { largestInterval } from "./largest-interval.ts";
import { added, type Chosen, type LimitMeasure, type Measured } from "./measure.ts";
import { placesOfRows } from "./measured-place.ts";

/** Measures whose places are others than those of rows, by their words. */
const OWN_PLACES: Readonly<Record<string, LimitMeasure["measure"] | undefined>> = {
  workingset: largestInterval,
};

const OF_TOOLS: readonly LimitMeasure[] = MEASURES.map((one) => ({
  ...one,
  also: wordsOf(one, "check").slice(1),
  measure: OWN_PLACES[one.id] ?? ((run, chosen) => measured(one, run, chosen)),
}));

/** All that limits can be set for. */
export const LIMIT_MEASURES: readonly LimitMeasure[] = [
  ...OF_TOOLS,
  ...findingMeasures(new Set(OF_TOOLS.flatMap(({ id, also }) => [id, ...also]))),
];

/** @throws UserError for words that are none */
export function limitMeasure(word: string): LimitMeasure {
  const found = LIMIT_MEASURES.find(({ id, also }) => id === word || also.includes(word));
  if (found !== undefined) return found;
  const names = LIMIT_MEASURES.flatMap(({ id, also }) => [id, ...also].map((name) => ({ word: name, name })));
  throw new UserError(
    `"${word}" is no measure${likeIt(nearest(word, names).slice(0, 3))}; memshade check --list has all of them`,
  );
}

function measured(
  { tool, unit, combine, column }: Measure,
  run: RecordedTools,
  chosen: Chosen,
): Measured | undefined {
  if (typeof combine === "object") {
    const [over, under] = [combine.of, combine.by].map((id) => measured(measure(id), run, chosen));
    if (over === undefined || under === undefined) return undefined;
    const ratio = (of: number, by: number) =>
      by === 0 ? 0 : combine.isRest === true ? 1 - of / by : of / by;
    return {
      amount: ratio(over.amount, under.amount),
      places: over.places.map(({ place, amount }, index) => ({
        place,
        amount: ratio(amount, under.places[index]!.amount),
      })),
    };
  }
  const [stacks, amounts] = [stacksOf(tool, run), column(run)];
  if (stacks === undefined || amounts === undefined) return undefined;
  if (chosen !== undefined && amounts.isUnplaced === true) return undefined;
  // Estimates, and parts of what several callers made, are no whole numbers; a clock may have parts of its unit.
  const whole = unit === "clock" ? (amount: number) => amount : Math.round;
  const places = placesOfRows(stacks).map((place, row) => ({ place, amount: Number(amounts.amounts[row]) }));
  const all = added(places, chosen, amounts.rest);
  return {
    amount: whole(all.amount),
    places: all.places.map(({ place, amount }) => ({ place, amount: whole(amount) })),
    isLowerBound: amounts.isLowerBound,
  };
}
