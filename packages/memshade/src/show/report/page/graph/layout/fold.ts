import { BoxFinder } from "./box-finder.ts";
import type { FoundBoxes } from "./tree.ts";

/** Calling contexts as a prefix tree: each one is a frame below another context. Parents come first. */
export interface ContextColumns {
  /** −1 where nothing called it. */
  parent: Int32Array;
  frame: Int32Array;
}

/** How frames become boxes. All arrays are by frame. */
export interface FoldRules {
  /** The frame that stands for all which are shown as one, for instance all lines of a function. */
  groupOf: Int32Array;
  /** 1: the frame is shown as a part of the frame with a 1 that calls it, if there is one. */
  isFolded?: Uint8Array | undefined;
  /** 1: whatever passes through a frame of this group is left out. */
  isRemoved?: Uint8Array | undefined;
}

/** Boxes without amounts: they stay as they are when other amounts are asked for. */
export interface FoldedContexts extends Omit<FoundBoxes, "own"> {
  /** The found box of each context; −1 where it was removed. */
  boxOf: Int32Array;
}

/**
 * Makes one box of all contexts that are shown alike: equal groups below one box, and library frames with the library frame
 * through which they were entered.
 */
export function foldContexts(
  { parent, frame }: ContextColumns,
  { groupOf, isFolded, isRemoved }: FoldRules,
): FoldedContexts {
  const finder = new BoxFinder(parent.length + 1);
  const boxOf = new Int32Array(parent.length);
  for (let context = 0; context < parent.length; context++) {
    const above = parent[context] < 0 ? 0 : boxOf[parent[context]];
    const group = groupOf[frame[context]];
    if (above < 0 || isRemoved?.[group] === 1) boxOf[context] = -1;
    else if (isFolded?.[group] === 1 && above > 0 && isFolded[finder.frameOf(above)] === 1)
      boxOf[context] = above;
    else boxOf[context] = finder.below(above, group);
  }
  return { ...finder.finish([]), boxOf };
}

/**
 * What each box holds itself, and what was removed.
 *
 * @param values what each context holds itself
 */
export function sumsOf(
  { count, boxOf }: FoldedContexts,
  values: Float64Array,
): { own: Float64Array; removed: number } {
  const own = new Float64Array(count);
  let removed = 0;
  for (let context = 0; context < boxOf.length; context++)
    if (boxOf[context] < 0) removed += values[context];
    else own[boxOf[context]] += values[context];
  return { own, removed };
}
