import type { PageContexts, PageFrames, PageThroughMerged, PageWeight } from "./page-data.ts";
import { type FrameKeys, fileKeys, lineKeys, Through, withCalls } from "./through.ts";

type Tree = Pick<PageContexts, "parent" | "frame">;

/** Parts of a sum that come of adding fractions in another order. */
const ROUNDING = 1e-9;

/**
 * What the contexts of a page lack of the sums of lines and files with all calls, since callers of merged ones are not among them.
 *
 * @param trees all contexts, and those of the page
 * @param valuesOf what each of all contexts has of the weight with an index
 */
export function throughMerged(
  frames: PageFrames,
  { all, contexts }: { readonly all: Tree; readonly contexts: Tree },
  weights: readonly PageWeight[],
  valuesOf: (weight: number) => Float64Array,
): PageThroughMerged {
  const [lines, files] = [lineKeys(frames), fileKeys(frames)].map((keys) => ({
    keys,
    whole: new Through(all, keys),
    told: new Through(contexts, keys),
  }));
  const missing = weights.map(({ id, values }, index) => {
    const [whole, told] = [withCalls(all, valuesOf(index)), withCalls(contexts, values)];
    const [ofLines, ofFiles] = [lines!, files!].map((of) =>
      without(of.whole.sums(whole), of.told.sums(told)),
    );
    return { weight: id, ofLines: ofLines!, ofFiles: ofFiles! };
  });
  const shownLines = somethingIn(missing.map(({ ofLines }) => ofLines));
  const shownFiles = somethingIn(missing.map(({ ofFiles }) => ofFiles));
  return {
    lines: framesOf(lines!.keys, shownLines),
    files: framesOf(files!.keys, shownFiles),
    columns: missing
      .map(({ weight, ofLines, ofFiles }) => ({
        weight,
        ofLines: Float64Array.from(shownLines, (key) => ofLines[key]!),
        ofFiles: Float64Array.from(shownFiles, (key) => ofFiles[key]!),
      }))
      .filter(({ ofLines, ofFiles }) =>
        [ofLines, ofFiles].some((column) => column.some((value) => value !== 0)),
      ),
  };
}

function without(whole: Float64Array, told: Float64Array): Float64Array {
  return whole.map((sum, key) => {
    const missing = sum - told[key]!;
    return Math.abs(missing) <= ROUNDING * Math.abs(sum) ? 0 : missing;
  });
}

/** Rows in which a column has a number. */
function somethingIn(columns: readonly Float64Array[]): Int32Array {
  const length = columns[0]?.length ?? 0;
  return Int32Array.from({ length }, (_, row) => row).filter((row) =>
    columns.some((column) => column[row] !== 0),
  );
}

function framesOf({ first }: FrameKeys, keys: Int32Array): Int32Array {
  return keys.map((key) => first[key]!);
}
