import type { CallTree } from "./tree.ts";

/**
 * The frame around which a sandwich is made: the first wanted one that has a box, else the innermost of the program's own
 * above the box that holds most itself. Undefined in a tree without boxes.
 */
export function centreOf(
  tree: CallTree,
  wanted: readonly (number | undefined)[],
  groupOf: Int32Array,
  isLibrary: Uint8Array,
): number | undefined {
  for (const frame of wanted) {
    const group = frame === undefined ? undefined : groupOf[frame];
    if (group !== undefined && tree.frame.includes(group)) return group;
  }
  let most = 0;
  for (let box = 1; box < tree.count; box++)
    if (most === 0 || tree.own[0][box] > tree.own[0][most]) most = box;
  for (let box = most; box > 0; box = tree.parent[box])
    if (isLibrary[tree.frame[box]] === 0) return tree.frame[box];
  return most > 0 ? tree.frame[most] : undefined;
}
