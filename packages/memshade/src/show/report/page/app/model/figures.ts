// Amounts per context that all views show: of the whole run, or of a range if they were recorded over time.
import { sum } from "../../../../../ground/bytes/numbers.ts";
import { FRAME_FLAGS, type PageData, type PageTimeline, type PageWeight } from "../../data/page-data.ts";
import type { PageRange, PageState } from "../state.ts";

/** A weight with the amounts for the current state. */
export interface Figure extends Omit<PageWeight, "before" | "totalBefore"> {
  /**
   * True if a range is selected but the weight was not recorded over time: the amounts are those of the whole
   * run.
   */
  readonly isWholeRun: boolean;
  /** Amounts of both runs, in a comparison. */
  readonly before?: Float64Array | undefined;
  readonly after?: Float64Array | undefined;
}

/** Returns all weights for the current state, then the figures that only a range has. */
export function figuresOf(data: PageData, range: PageRange | undefined, side: PageState["side"]): Figure[] {
  const timeline = range && timelineOf(data, range);
  const figures = data.weights.map((weight): Figure => {
    if (weight.before !== undefined) return sideOf(weight, weight.before, side, range !== undefined);
    const inRange = timeline?.tool === weight.tool && sumRange(data, timeline, range!, [[weight.id, 1]]);
    return inRange
      ? { ...weight, values: inRange, total: sum(inRange), deviations: undefined, isWholeRun: false }
      : { ...weight, isWholeRun: range !== undefined };
  });
  return timeline === undefined ? figures : [...figures, ...rangeFigures(data, timeline, range!)];
}

function sideOf(
  weight: PageWeight,
  before: Float64Array,
  side: PageState["side"],
  isWholeRun: boolean,
): Figure {
  const after = weight.values;
  const values =
    side === "after" ? after : side === "before" ? before : after.map((value, i) => value - before[i]);
  return { ...weight, values, total: sum(values), deviations: undefined, before, after, isWholeRun };
}

/** Returns the timeline of a range; undefined if it does not exist. */
export function timelineOf(data: PageData, { tool }: PageRange): PageTimeline | undefined {
  return data.timelines.find((timeline) => timeline.tool === tool);
}

/** Returns heap figures of a range: bytes live at its end, and their growth within it. */
function rangeFigures(data: PageData, timeline: PageTimeline, range: PageRange): Figure[] {
  const live = liveAt(data, timeline, range.to);
  if (live === undefined) return [];
  const grown = sumRange(data, timeline, range, [
    ["bytes", 1],
    ["freed", -1],
  ])!;
  const figure = (id: string, label: string, values: Float64Array): Figure => ({
    id,
    label,
    word: "live",
    unit: "bytes",
    tool: timeline.tool,
    values,
    total: sum(values),
    isWholeRun: false,
  });
  return [
    figure("live", "bytes live at the end of the range", live),
    figure("grown", "bytes grown in the range", grown),
  ];
}

/** Returns the bytes of each context that are live at the begin of interval `to`. */
function liveAt(data: PageData, timeline: PageTimeline, to: number): Float64Array | undefined {
  const live = sumRange(data, timeline, { from: 0, to }, [
    ["bytes", 1],
    ["freed", -1],
  ]);
  const { begin } = timeline.deltas ?? {};
  begin?.context.forEach((context, row) => {
    if (live) live[context] += begin.bytes[row];
  });
  return live;
}

/** Returns the weighted sum of columns over intervals, per context; undefined if a column is missing. */
function sumRange(
  data: PageData,
  { deltas }: PageTimeline,
  { from, to }: { from: number; to: number },
  terms: readonly (readonly [column: string, factor: number])[],
): Float64Array | undefined {
  const columns = terms.map(([id]) => deltas?.columns.find(({ weight }) => weight === id)?.values);
  if (deltas === undefined || !columns.every((column) => column !== undefined)) return undefined;
  const values = new Float64Array(data.contexts.length);
  const last = deltas.offset.length - 1;
  const [begin, end] = [deltas.offset[Math.min(from, last)], deltas.offset[Math.min(to, last)]];
  for (const [term, [, factor]] of terms.entries()) {
    const column = columns[term];
    for (let row = begin; row < end; row++) values[deltas.context[row]] += factor * column[row];
  }
  return values;
}

/**
 * Margins of error of sums, if JavaScript callers were sampled. Same formula as `marginOf` of the terminal's
 * report.
 */
export class Margins {
  /** Innermost JavaScript caller of each context. */
  readonly #caller: Int32Array;

  constructor({ contexts: { parent, frame }, frames: { flags } }: PageData) {
    this.#caller = new Int32Array(parent.length);
    for (let context = 0; context < parent.length; context++) {
      const isScript = (flags[frame[context]] & FRAME_FLAGS.script) !== 0;
      const above = parent[context];
      this.#caller[context] = isScript ? context : above < 0 ? -1 : this.#caller[above];
    }
  }

  /** Returns the margin of error of a figure's sum over contexts, at 95 % confidence. */
  of({ deviations }: Figure, contexts: Iterable<number>): number {
    if (deviations === undefined) return 0;
    // Errors of contexts with the same caller add up; those of different callers are independent.
    const sums = new Map<number, number>();
    for (const context of contexts)
      if (deviations[context] > 0) {
        const caller = this.#caller[context];
        sums.set(caller, (sums.get(caller) ?? 0) + deviations[context]);
      }
    let variance = 0;
    for (const sum of sums.values()) variance += sum ** 2;
    return 2 * Math.sqrt(variance);
  }
}
