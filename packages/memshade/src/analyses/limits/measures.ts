import { UserError } from "../../bytes/errors.ts";
import { nearest } from "../nearest-words.ts";
import { findingMeasures } from "./finding-measures.ts";
import { HEAP_MEASURES } from "./heap-measures.ts";
import type { Measure } from "./measure.ts";
import { OBJECT_MEASURES } from "./object-measures.ts";
import { WASTE_MEASURES } from "./waste-measures.ts";
import { WORKING_SET_MEASURES } from "./working-set-measures.ts";

const OF_TOOLS: readonly Measure[] = [
  ...HEAP_MEASURES,
  ...WASTE_MEASURES,
  ...WORKING_SET_MEASURES,
  ...OBJECT_MEASURES,
];

/** All that limits can be set for. */
export const MEASURES: readonly Measure[] = [
  ...OF_TOOLS,
  ...findingMeasures(new Set(OF_TOOLS.map(({ word }) => word))),
];

/** @throws UserError for words that are none */
export function measureOf(word: string): Measure {
  const found = MEASURES.find((measure) => measure.word === word || measure.also === word);
  if (found !== undefined) return found;
  const names = MEASURES.flatMap((measure) =>
    [measure.word, ...(measure.also === undefined ? [] : [measure.also])].map((name) => ({
      word: name,
      name,
    })),
  );
  throw new UserError(
    `"${word}" is no measure; most like it are ${nearest(word, names).slice(0, 3).join(", ")}; memshade check --list has all of them`,
  );
}
