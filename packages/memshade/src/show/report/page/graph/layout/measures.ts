import { type FoldedContexts, sumsOf } from "./fold.ts";
import { arrange, type CallTree } from "./tree.ts";

/** A tree whose one measure is what widths show, and where each context went. */
export interface BaseTree {
  tree: CallTree;
  /** The box of each context; −1 where it was removed. */
  boxOf: Int32Array;
  /** What was removed, in the measure's unit. */
  removed: number;
}

/** Lays folded contexts out by what each holds itself. */
export function baseTree(folded: FoldedContexts, widths: Float64Array): BaseTree {
  const { own, removed } = sumsOf(folded, widths);
  const { tree, placeOf } = arrange({ ...folded, own: [own] });
  const boxOf = new Int32Array(folded.boxOf.length);
  for (let context = 0; context < boxOf.length; context++) {
    const box = folded.boxOf[context];
    boxOf[context] = box < 0 ? box : placeOf[box];
  }
  return { tree, boxOf, removed };
}

/** The tree with more measures behind its first one, in the order in which they are given; one value a context. */
export function withMeasures({ tree, boxOf }: BaseTree, measures: readonly Float64Array[]): CallTree {
  const own = measures.map((values) => {
    const sums = new Float64Array(tree.count);
    for (let context = 0; context < boxOf.length; context++)
      if (boxOf[context] >= 0) sums[boxOf[context]] += values[context];
    return sums;
  });
  const total = own.map((values) => {
    const sums = values.slice();
    for (let box = tree.count - 1; box > 0; box--) sums[tree.parent[box]] += sums[box];
    return sums;
  });
  return { ...tree, own: [...tree.own, ...own], total: [...tree.total, ...total] };
}

/** What can be drawn as widths, and the sum of what cannot: amounts below zero. */
export interface Widths {
  values: Float64Array;
  negative: number;
}

/** One width a context: its value, and in a comparison the larger one of both runs, so that both have room in one layout. */
export function widthsOf(values: Float64Array, before: Float64Array | undefined): Widths {
  const widths = new Float64Array(values.length);
  let negative = 0;
  for (let context = 0; context < values.length; context++) {
    const value = before === undefined ? values[context] : Math.max(values[context], before[context]);
    if (value > 0) widths[context] = value;
    else negative += value;
  }
  return { values: widths, negative };
}

/** The part of each width that a set of contexts has: 1 in `chosen` is in it. */
export function widthsIn(widths: Float64Array, chosen: Uint8Array): Float64Array {
  const part = new Float64Array(widths.length);
  for (let context = 0; context < part.length; context++)
    if (chosen[context] === 1) part[context] = widths[context];
  return part;
}

/**
 * The context that a box is, with everything below it: of several that are drawn as one, the one that holds most.
 * Undefined for the root.
 */
export function contextOf(
  { boxOf }: Pick<BaseTree, "boxOf">,
  parent: Int32Array,
  widths: Float64Array,
  box: number,
): number | undefined {
  const total = widths.slice();
  for (let context = parent.length - 1; context >= 0; context--)
    if (parent[context] >= 0) total[parent[context]] += total[context];
  let most: number | undefined;
  for (let context = 0; context < boxOf.length; context++)
    if (boxOf[context] === box && (most === undefined || total[context] > total[most])) most = context;
  return most;
}
