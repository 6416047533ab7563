import { useMemo } from "preact/hooks";
import { amount } from "../app/parts/amounts.ts";
import { shown } from "../app/parts/shown-text.ts";
import type { GraphProps } from "./graph-props.ts";
import type { MeasuredTree } from "./layout/measured-tree.ts";
import { byCategory, byDifference, byRatio, type Colouring, largestCategories } from "./paint/colouring.ts";
import type { Palette } from "./paint/palette.ts";
import type { GraphModel } from "./use-graph.ts";

/** The colours of each tree's boxes; undefined until the page's colours are known. */
export function useColouring(
  { data, names }: GraphProps,
  { trees, colour, isLibrary }: GraphModel,
  palette: Palette | undefined,
): readonly Colouring[] | undefined {
  const isByFile = colour.id === "file";
  const colourCount = palette?.series.length ?? 1;
  // Of the whole run and its first weight: a range or another weight leaves the colours as they are.
  const categories = useMemo(() => {
    const known: string[] = [];
    const categoryOf = (frame: number): string => {
      known[frame] ??= shown(
        isByFile ? (names.file(frame) ?? names.module(frame) ?? "unknown") : names.package(frame),
      );
      return known[frame];
    };
    const values = data.weights[0]?.values ?? new Float64Array(data.contexts.length);
    return {
      named: largestCategories(data.contexts, values, categoryOf, colourCount),
      of: categoryOf,
      isLibrary,
    };
  }, [data, names, isByFile, colourCount, isLibrary]);

  return useMemo(() => {
    if (palette === undefined) return undefined;
    const colouringOf = (measured: MeasuredTree): Colouring => {
      const [of, by, before, after] = (["of", "by", "before", "after"] as const).map((name) =>
        measured.of(name),
      );
      if (colour.ratio !== undefined && of && by) {
        const { label, unit, clock } = colour.ratio.words;
        return byRatio([of, by], palette, {
          label,
          format: (ratio) => amount(ratio, unit, clock),
        });
      }
      if (colour.id === "difference" && before && after) return byDifference(before, after, palette);
      return byCategory(measured.tree, categories, palette);
    };
    return trees.map(colouringOf);
  }, [trees, colour, palette, categories]);
}
