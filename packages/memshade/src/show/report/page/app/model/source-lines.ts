// Sums per file and line: of the sites in a line, and of everything that passes through it.
import { entryOf } from "../../../../../ground/bytes/entries.ts";
import type { PageData } from "../../data/page-data.ts";
import { type FrameKeys, fileKeys, lineKeys, Through, withCalls } from "../../data/through.ts";
import type { Figure } from "./figures.ts";
import { missingOf } from "./merged.ts";

interface Sums {
  /** A frame in this line. */
  readonly frame: number;
  /** Sum of each figure over the contexts whose site is in this line. */
  readonly own: Float64Array;
  /** Sum of the selected figure over all contexts that pass through the line; recursion counts once. */
  through: number;
  /** Contexts with estimated figures: those whose site is in this line, and those that pass through it. */
  readonly estimated: number[];
  readonly estimatedThrough: number[];
}

export interface LineSums extends Readonly<Sums> {
  readonly line: number;
}

export interface FileSums {
  /** Index into `strings`. */
  readonly file: number;
  /** Ascending. */
  readonly lines: readonly LineSums[];
  readonly own: Float64Array;
  /** Sum of the selected figure. */
  readonly chosen: number;
  /** Sum of the selected figure over all contexts that pass through the file. */
  readonly through: number;
}

/** @param chosen figure for `through` */
export function sumLines(
  data: PageData,
  naming: Int32Array,
  figures: readonly Figure[],
  chosen: Figure | undefined,
): FileSums[] {
  const { frames, contexts } = data;
  const lines = new Map<number, Map<number, Sums>>();
  const lineOf = (frame: number) => {
    const file = frames.file[frame];
    if (file < 0 || frames.line[frame] === 0) return undefined;
    const ofFile = entryOf(lines, file, () => new Map<number, Sums>());
    return entryOf(ofFile, frames.line[frame], () => ({
      frame,
      own: new Float64Array(figures.length),
      through: 0,
      estimated: [],
      estimatedThrough: [],
    }));
  };
  for (const [index, { values }] of figures.entries())
    for (let context = 0; context < values.length; context++)
      if (values[context] !== 0) {
        const line = lineOf(naming[context]);
        if (line) line.own[index] += values[context];
      }
  // The lines of findings without contexts have no figures: data, instances, the stack.
  for (const { contexts: ofFinding, path } of data.findings)
    if (ofFinding.length === 0 && path.length > 0) lineOf(path[0]);
  const throughFile = new Map<number, number>();
  if (chosen) {
    const below = withCalls(contexts, chosen.values);
    const missing = missingOf(data, chosen);
    const through = (keys: FrameKeys, add: (frame: number, sum: number) => void) => {
      const sums = new Through(contexts, keys).sums(below);
      for (let key = 0; key < sums.length; key++) if (sums[key] !== 0) add(keys.first[key], sums[key]);
    };
    const addToLine = (frame: number, sum: number) => {
      lineOf(frame)!.through += sum;
    };
    const addToFile = (frame: number, sum: number) => {
      const file = frames.file[frame];
      throughFile.set(file, (throughFile.get(file) ?? 0) + sum);
    };
    through(lineKeys(frames), addToLine);
    through(fileKeys(frames), addToFile);
    missing?.ofLines.forEach((sum, row) => {
      if (sum !== 0) addToLine(data.throughMerged!.lines[row], sum);
    });
    missing?.ofFiles.forEach((sum, row) => {
      if (sum !== 0) addToFile(data.throughMerged!.files[row], sum);
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

/** Adds contexts with estimated figures to their lines. */
function addEstimated(
  { contexts: { parent, frame, length } }: PageData,
  naming: Int32Array,
  figures: readonly Figure[],
  lineOf: (frame: number) => Sums | undefined,
): void {
  const deviations = figures.flatMap((figure) => figure.deviations ?? []);
  if (deviations.length === 0) return;
  for (let context = 0; context < length; context++) {
    if (deviations.every((column) => column[context] === 0)) continue;
    lineOf(naming[context])?.estimated.push(context);
    for (let above = context; above >= 0; above = parent[above]) {
      const line = lineOf(frame[above]);
      if (line?.estimatedThrough.at(-1) !== context) line?.estimatedThrough.push(context);
    }
  }
}
