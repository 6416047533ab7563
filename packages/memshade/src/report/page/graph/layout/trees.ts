import { calleesOf } from "./callees.ts";
import { NARROWEST } from "./drawn-boxes.ts";
import { invert, outermostSeeds, ownSeeds, type Seeds } from "./invert.ts";
import { arrange, boxAt, type CallTree } from "./tree.ts";

/** The widest picture whose boxes are all there, CSS pixels: what is narrower in it has no callers of its own. */
const WIDEST = 1600;

/** Who called the sites, with as much of it as can be seen when zoomed. */
export function callersTree(tree: CallTree, zoom: readonly number[]): CallTree {
  return inverted(tree, ownSeeds(tree), zoom);
}

/** Both sides of a frame: who called it, and what it called. Below the root of each is the frame alone. */
export function sandwichTrees(tree: CallTree, centre: number): { callers: CallTree; callees: CallTree } {
  return {
    callers: inverted(tree, outermostSeeds(tree, centre), [centre]),
    callees: arrange(calleesOf(tree, centre)).tree,
  };
}

function inverted(tree: CallTree, seeds: Seeds, zoom: readonly number[]): CallTree {
  const build = (path: readonly number[]) =>
    arrange(invert(tree, seeds, { zoom: path, share: NARROWEST / WIDEST })).tree;
  const built = build(zoom);
  // A path that ends on its way is zoomed to where it ends.
  const depth = built.depth[boxAt(built, zoom)];
  return depth < zoom.length ? build(zoom.slice(0, depth)) : built;
}
