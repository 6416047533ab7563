import type { DrawnBoxes } from "./drawn-boxes.ts";
import type { CallTree } from "./tree.ts";

/** Where the keyboard goes from a box. */
export type Step = "above" | "below" | "next" | "previous" | "first" | "last";

/** The drawn box that a step leads to: the same one where there is none that way. */
export function stepFrom(drawn: DrawnBoxes, from: number, step: Step): number {
  const parent = drawn.parent[from];
  const siblings = parent < 0 ? [from, from + 1] : [drawn.childStart[parent], drawn.childEnd[parent]];
  switch (step) {
    case "above":
      return parent < 0 ? from : parent;
    case "below":
      return drawn.childStart[from] < drawn.childEnd[from] ? drawn.childStart[from] : from;
    case "next":
      return Math.min(from + 1, siblings[1] - 1);
    case "previous":
      return Math.max(from - 1, siblings[0]);
    case "first":
      return 0;
    case "last":
      return siblings[1] - 1;
  }
}

/** Where the focus is, told so that it is found again when boxes have moved. */
export interface FocusPlace {
  /** Frames from the root. */
  path: readonly number[];
  /** It is on the boxes below the path that are too narrow. */
  isRest: boolean;
}

/** The place of a drawn box. */
export function placeOf(tree: CallTree, drawn: DrawnBoxes, index: number): FocusPlace {
  const isRest = drawn.rest[index] > 0;
  const path: number[] = [];
  for (let at = isRest ? drawn.parent[index] : index; at >= 0; at = drawn.parent[at])
    if (drawn.box[at] !== 0) path.unshift(tree.frame[drawn.box[at]]);
  return { path, isRest };
}

/** The drawn box at a place, or the last one on the way that is drawn. */
export function drawnAt(tree: CallTree, drawn: DrawnBoxes, { path, isRest }: FocusPlace): number {
  let at = 0;
  // The first box may be the root, which no frame names.
  for (const frame of drawn.box[0] === 0 ? path : path.slice(1)) {
    const child = findChild(
      drawn,
      at,
      (index) => drawn.rest[index] === 0 && tree.frame[drawn.box[index]] === frame,
    );
    if (child === undefined) return at;
    at = child;
  }
  return isRest ? (findChild(drawn, at, (index) => drawn.rest[index] > 0) ?? at) : at;
}

function findChild(drawn: DrawnBoxes, of: number, isWanted: (index: number) => boolean): number | undefined {
  for (let index = drawn.childStart[of]; index < drawn.childEnd[of]; index++)
    if (isWanted(index)) return index;
  return undefined;
}
