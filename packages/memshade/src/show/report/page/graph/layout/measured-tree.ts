import type { CallTree } from "./tree.ts";

/** Measures that a tree may have behind the one that its widths show. */
export type MeasureName = "matched" | "selected" | "before" | "after" | "of" | "by" | "merged";

/** A tree whose columns have names. */
export interface MeasuredTree {
  tree: CallTree;
  /** The names of the columns behind the first one. */
  order: readonly MeasureName[];
  /** What each box and all below it has; undefined where nobody measured it. */
  of(name: MeasureName): Float64Array | undefined;
}

export function named(tree: CallTree, order: readonly MeasureName[]): MeasuredTree {
  return {
    tree,
    order,
    of(name) {
      const index = order.indexOf(name);
      return index < 0 ? undefined : tree.total[index + 1];
    },
  };
}
