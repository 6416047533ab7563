// Sums per file and line: of sites in a line, and of all that goes through it.
import type { PageData } from "../../data/page-data.ts";
import type { Figure } from "./figures.ts";

interface Sums {
  /** A frame in this line. */
  readonly frame: number;
  /** Sum of each figure over the contexts whose site is in this line. */
  readonly own: Float64Array;
  /** Sum of the chosen figure over all contexts that go through it, recursion once. */
  through: number;
  /** Contexts of which a figure is an estimate: those whose site is in this line, and those that go through it. */
  readonly estimated: number[];
  readonly estimatedThrough: number[];
}

/** Numbers of one line. */
export interface LineSums extends Readonly<Sums> {
  readonly line: number;
}

export interface FileSums {
  /** Index into `strings`. */
  readonly file: number;
  /** Ascending. */
  readonly lines: readonly LineSums[];
  readonly own: Float64Array;
  /** The one of the chosen figure. */
  readonly chosen: number;
  /** Sum of the chosen figure over all contexts that go through the file. */
  readonly through: number;
}

/** @param chosen the figure that `through` is of */
export function sumLines(
  data: PageData,
  naming: Int32Array,
  figures: readonly Figure[],
  chosen: Figure | undefined,
): FileSums[] {
  const { frames } = data;
  const lines = new Map<number, Map<number, Sums>>();
  const lineOf = (frame: number) => {
    const file = frames.file[frame];
    if (file < 0 || frames.line[frame] === 0) return undefined;
    const ofFile = lines.get(file) ?? new Map<number, Sums>();
    lines.set(file, ofFile);
    let found = ofFile.get(frames.line[frame]);
    if (found === undefined) {
      found = {
        frame,
        own: new Float64Array(figures.length),
        through: 0,
        estimated: [],
        estimatedThrough: [],
      };
      ofFile.set(frames.line[frame], found);
    }
    return found;
  };
  for (const [index, { values }] of figures.entries())
    for (let context = 0; context < values.length; context++)
      if (values[context] !== 0) {
        const line = lineOf(naming[context]);
        if (line) line.own[index] += values[context];
      }
  const throughFile = new Map<number, number>();
  if (chosen) {
    const line = (frame: number) =>
      frames.line[frame] === 0 ? -1 : frames.file[frame] * 2 ** 24 + frames.line[frame];
    eachOutermost(data, chosen.values, line, (frame, sum) => {
      lineOf(frame)!.through += sum;
    });
    const file = (frame: number) => frames.file[frame];
    eachOutermost(data, chosen.values, file, (frame, sum) => {
      throughFile.set(file(frame), (throughFile.get(file(frame)) ?? 0) + sum);
    });
  }
  addEstimated(data, naming, figures, (frame) => lines.get(frames.file[frame])?.get(frames.line[frame]));
  return [...lines].map(([file, ofFile]) => {
    const sorted = [...ofFile].map(([line, sums]) => ({ line, ...sums })).sort((a, b) => a.line - b.line);
    const own = Float64Array.from(figures, (_, index) =>
      sorted.reduce((sum, line) => sum + line.own[index], 0),
    );
    const index = chosen ? figures.indexOf(chosen) : -1;
    return { file, lines: sorted, own, chosen: own[index] ?? 0, through: throughFile.get(file) ?? 0 };
  });
}

/** Notes at lines which contexts have figures that may be off. */
function addEstimated(
  { contexts: { parent, frame, length } }: PageData,
  naming: Int32Array,
  figures: readonly Figure[],
  lineOf: (frame: number) => Sums | undefined,
): void {
  const deviations = figures.flatMap((figure) => figure.deviations ?? []);
  if (deviations.length === 0) return;
  for (let context = 0; context < length; context++) {
    if (deviations.every((of) => of[context] === 0)) continue;
    lineOf(naming[context])?.estimated.push(context);
    for (let above = context; above >= 0; above = parent[above]) {
      const line = lineOf(frame[above]);
      if (line?.estimatedThrough.at(-1) !== context) line?.estimatedThrough.push(context);
    }
  }
}

/** Calls `add` with the sum below each context that no caller of the same key has above it; keys below 0 are none. */
function eachOutermost(
  { contexts: { parent, frame, length } }: PageData,
  values: Float64Array,
  keyOf: (frame: number) => number,
  add: (frame: number, sum: number) => void,
): void {
  const below = values.slice();
  for (let context = length - 1; context >= 0; context--)
    if (parent[context] >= 0) below[parent[context]] += below[context];
  for (let context = 0; context < length; context++) {
    const key = keyOf(frame[context]);
    if (key < 0 || below[context] === 0) continue;
    let above = parent[context];
    while (above >= 0 && keyOf(frame[above]) !== key) above = parent[above];
    if (above < 0) add(frame[context], below[context]);
  }
}
