import { type ContextColumns, type FoldRules, foldContexts } from "./box-finder.ts";

/** Begin of a box's path: the root, the measured site, or a frame whose callers or callees are drawn. */
export const BOX_ENDS = ["root", "site", "callers", "callees"] as const;
export type BoxEnd = (typeof BOX_ENDS)[number];

/** A box, identified by the frames that lead to it, its own last. */
export interface BoxPath {
  readonly from: BoxEnd;
  readonly path: readonly number[];
}

/** Returns 1 for each context of a box, including lines, calls and library frames that are drawn as one. */
export function contextsOfBox(
  contexts: ContextColumns,
  rules: FoldRules,
  { from, path }: BoxPath,
): Uint8Array {
  const { count, parent, frame, boxOf } = foldContexts(contexts, rules);
  const isChosen = new Uint8Array(count);
  if (path.length === 0) return new Uint8Array(boxOf.length);
  if (from === "root") chooseBelow(isChosen, parent, frame, path);
  else if (from === "callees") chooseBelow(isChosen, parent, frame, path, true);
  else if (from === "site")
    for (let box = 1; box < count; box++) isChosen[box] = Number(isCalledBy(box, parent, frame, path));
  else chooseCalled(isChosen, parent, frame, path);
  return Uint8Array.from(boxOf, (box) => (box < 0 ? 0 : isChosen[box]));
}

/**
 * Marks the boxes at the end of the path and all below them.
 * @param isAnywhere true if the path begins at the outermost boxes of its first frame
 */
function chooseBelow(
  isChosen: Uint8Array,
  parent: Int32Array,
  frame: Int32Array,
  path: readonly number[],
  isAnywhere = false,
): void {
  // Number of the path's frames that lead to each box; −1 if the box is not on the path.
  const followed = new Int32Array(isChosen.length);
  for (let box = 1; box < isChosen.length; box++) {
    const above = followed[parent[box]];
    if (isChosen[parent[box]] === 1) isChosen[box] = 1;
    else if (above >= 0 && frame[box] === path[above]) followed[box] = above + 1;
    else followed[box] = above === 0 && isAnywhere ? 0 : -1;
    if (followed[box] === path.length) isChosen[box] = 1;
  }
}

/** Marks everything below the outermost boxes of the path's first frame that were called along the path. */
function chooseCalled(
  isChosen: Uint8Array,
  parent: Int32Array,
  frame: Int32Array,
  path: readonly number[],
): void {
  const isInside = new Uint8Array(isChosen.length);
  for (let box = 1; box < isChosen.length; box++) {
    const above = parent[box];
    isInside[box] = isInside[above];
    isChosen[box] = isChosen[above];
    if (isInside[above] === 1 || frame[box] !== path[0]) continue;
    isInside[box] = 1;
    isChosen[box] = Number(isCalledBy(box, parent, frame, path));
  }
}

/** True if the box and its callers have the frames of the path. */
function isCalledBy(box: number, parent: Int32Array, frame: Int32Array, path: readonly number[]): boolean {
  let at = box;
  for (const wanted of path) {
    if (at <= 0 || frame[at] !== wanted) return false;
    at = parent[at];
  }
  return true;
}
