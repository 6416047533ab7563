import type { ContextColumns } from "../layout/box-finder.ts";
import type { CallTree } from "../layout/tree.ts";
import { type Colour, mix, type Palette } from "./palette.ts";

/** Colours of boxes, with their legend. */
export interface Colouring {
  fills: readonly Colour[];
  /** Returns the index into `fills`. */
  fillOf(box: number): number;
  legend: readonly { label: string; fill: number }[];
}

/** Steps of lightness: a factor of two each, around the ratio of the whole. */
const STEPS = 7;
const MIDDLE = (STEPS - 1) / 2;

/** Part of the background in a colour: text on large areas of full colours is hard to read. */
const OWN_PALENESS = 0.3;
const LIBRARY_PALENESS = 0.7;

/**
 * Returns the categories with the largest totals, largest first: all of them if there are enough colours,
 * else one fewer than colours.
 *
 * @param values own amount of each context
 */
export function largestCategories(
  { parent, frame }: ContextColumns,
  values: Float64Array,
  categoryOf: (frame: number) => string,
  colours: number,
): string[] {
  const total = values.slice();
  const ofFrame = new Map<number, number>();
  for (let context = total.length - 1; context >= 0; context--) {
    if (parent[context] >= 0) total[parent[context]] += total[context];
    ofFrame.set(frame[context], (ofFrame.get(frame[context]) ?? 0) + total[context]);
  }
  const areas = new Map<string, number>();
  for (const [frameNumber, area] of ofFrame) {
    const category = categoryOf(frameNumber);
    areas.set(category, (areas.get(category) ?? 0) + area);
  }
  const sorted = [...areas]
    .filter(([, area]) => area > 0)
    .sort(([a, areaOfA], [b, areaOfB]) => areaOfB - areaOfA || (a < b ? -1 : 1));
  return sorted.slice(0, sorted.length <= colours ? colours : colours - 1).map(([category]) => category);
}

export interface Categories {
  /** Categories with a colour of their own. */
  named: readonly string[];
  of(frame: number): string;
  /** 1 for library frames, which are drawn paler. */
  isLibrary: Uint8Array;
}

/** Colours boxes by package or file. */
export function byCategory(tree: CallTree, categories: Categories, { series, panel }: Palette): Colouring {
  const indices = new Map(categories.named.map((name, index) => [name, index]));
  const last = series.length - 1;
  const ofFrame = new Int16Array(categories.isLibrary.length).fill(-1);
  const fillOfFrame = (frame: number): number => {
    const index = indices.get(categories.of(frame)) ?? last;
    return categories.isLibrary[frame] === 1 ? series.length + index : index;
  };
  const fillOf = (box: number): number => {
    const frame = tree.frame[box];
    if (frame < 0) return 2 * series.length;
    if (ofFrame[frame] < 0) ofFrame[frame] = fillOfFrame(frame);
    return ofFrame[frame];
  };
  const isUsed = new Uint8Array(2 * series.length + 1);
  for (let box = 1; box < tree.count; box++) if (tree.total[0][box] > 0) isUsed[fillOf(box)] = 1;
  return {
    fills: [
      ...series.map((colour) => mix(colour, panel, OWN_PALENESS)),
      ...series.map((colour) => mix(colour, panel, LIBRARY_PALENESS)),
      mix(panel, series[last], 0.2),
    ],
    fillOf,
    legend: [...categories.named, ...(categories.named.length === last ? ["other"] : [])].flatMap(
      (label, fill) => {
        // Colour of own code, if there is any.
        const used = [fill, fill + series.length].find((candidate) => isUsed[candidate] === 1);
        return used === undefined ? [] : [{ label, fill: used }];
      },
    ),
  };
}

/** Words for the steps of a ratio. */
export interface RatioWords {
  label: string;
  format(ratio: number): string;
}

/**
 * Colours boxes by a ratio: darker (on a dark page lighter) for larger ratios; the middle step is the ratio
 * of the whole.
 */
export function byRatio(
  [of, by]: readonly [of: Float64Array, by: Float64Array],
  palette: Palette,
  words: RatioWords,
): Colouring {
  const mean = by[0] > 0 ? of[0] / by[0] : 0;
  const at = (step: number) => words.format(mean * 2 ** (step - MIDDLE));
  return {
    fills: [...lightnessSteps(palette), mix(palette.background, palette.panel, 0.5)],
    fillOf: (box) => (by[box] > 0 ? ratioStep(of[box] / by[box], mean) : STEPS),
    legend:
      mean > 0
        ? [
            { label: `${words.label}: ${at(0)} or less`, fill: 0 },
            { label: `${at(MIDDLE)} (all)`, fill: MIDDLE },
            { label: `${at(STEPS - 1)} or more`, fill: STEPS - 1 },
          ]
        : [{ label: `${words.label}: 0`, fill: 0 }],
  };
}

/** Returns the step of a ratio: its distance from the mean in factors of two, counted from 0. */
export function ratioStep(ratio: number, mean: number): number {
  if (ratio <= 0 || mean <= 0) return 0;
  return Math.min(STEPS - 1, Math.max(0, Math.round(Math.log2(ratio / mean)) + MIDDLE));
}

/** Colours boxes darker if the amount grew, paler if it shrank. */
export function byDifference(before: Float64Array, after: Float64Array, palette: Palette): Colouring {
  return {
    fills: lightnessSteps(palette),
    fillOf(box) {
      const larger = Math.max(before[box], after[box]);
      return larger > 0 ? Math.round(((after[box] - before[box]) / larger) * MIDDLE) + MIDDLE : MIDDLE;
    },
    legend: [
      { label: "gone", fill: 0 },
      { label: "unchanged", fill: MIDDLE },
      { label: "new", fill: STEPS - 1 },
    ],
  };
}

function lightnessSteps({ panel, accent }: Palette): Colour[] {
  return Array.from({ length: STEPS }, (_, step) => mix(panel, accent, step / (STEPS - 1)));
}
