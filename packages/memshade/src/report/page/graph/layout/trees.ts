import { calleesOf } from "./callees.ts";
import { NARROWEST } from "./drawn-boxes.ts";
import { invert, outermostSeeds, ownSeeds, type Seeds } from "./invert.ts";
import { arrange, boxAt, type CallTree, childOf, restFrom } from "./tree.ts";

/** The widest picture whose boxes are all there, CSS pixels: what is narrower in it has no callers of its own. */
const WIDEST = 1600;

/** The least part of such a picture that can be seen. */
const SHARE = NARROWEST / WIDEST;

/**
 * Who called the sites, with as much of it as can be seen when zoomed.
 *
 * @param rest the frame of the child from which on the zoomed box's children are seen
 */
export function callersTree(tree: CallTree, zoom: readonly number[], rest?: number): CallTree {
  const seeds = ownSeeds(tree);
  const built = inverted(tree, seeds, zoom);
  const box = boxAt(built, zoom);
  const from = rest === undefined ? undefined : childOf(built, box, rest);
  if (from === undefined) return built;
  const share = SHARE * (restFrom(built, from).value / built.total[0][box]);
  return arrange(invert(tree, seeds, { zoom, share })).tree;
}

/** Both sides of a frame: who called it, and what it called. Below the root of each is the frame alone. */
export function sandwichTrees(tree: CallTree, centre: number): { callers: CallTree; callees: CallTree } {
  return {
    callers: inverted(tree, outermostSeeds(tree, centre), [centre]),
    callees: arrange(calleesOf(tree, centre)).tree,
  };
}

function inverted(tree: CallTree, seeds: Seeds, zoom: readonly number[]): CallTree {
  const build = (path: readonly number[]) => arrange(invert(tree, seeds, { zoom: path, share: SHARE })).tree;
  const built = build(zoom);
  // A path that ends on its way is zoomed to where it ends.
  const depth = built.depth[boxAt(built, zoom)];
  return depth < zoom.length ? build(zoom.slice(0, depth)) : built;
}
