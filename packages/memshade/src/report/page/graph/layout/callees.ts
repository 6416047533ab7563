import { BoxFinder } from "./box-finder.ts";
import type { CallTree, FoundBoxes } from "./tree.ts";

/** All that is below the outermost boxes of a frame, as one tree with the frame below the root. */
export function calleesOf(tree: CallTree, wanted: number): FoundBoxes {
  const finder = new BoxFinder();
  // The new box of each one of the tree; −1 for those which are not below the frame.
  const boxOf = new Int32Array(tree.count).fill(-1);
  for (let box = 1; box < tree.count; box++) {
    const above = boxOf[tree.parent[box]];
    if (above >= 0) boxOf[box] = finder.below(above, tree.frame[box]);
    else if (tree.frame[box] === wanted) boxOf[box] = finder.below(0, wanted);
  }
  return finder.finish(
    tree.own.map((values) => {
      const sums = new Float64Array(finder.count);
      for (let box = 1; box < tree.count; box++) if (boxOf[box] >= 0) sums[boxOf[box]] += values[box];
      return sums;
    }),
  );
}
