import { useMemo } from "preact/hooks";
import type { PageData } from "../data/page-data.ts";
import type { GraphProps } from "./graph-props.ts";
import { BoxFinder } from "./layout/box-finder.ts";
import { NARROWEST } from "./layout/drawn-boxes.ts";
import { foldContexts } from "./layout/fold.ts";
import { groupFrames, libraryFrames, removedFrames } from "./layout/frame-groups.ts";
import { invert, outermostSeeds, ownSeeds, type Seeds } from "./layout/invert.ts";
import { type MeasuredTree, type MeasureName, named } from "./layout/measured-tree.ts";
import { type BaseTree, baseTree, contextOf, widthsIn, widthsOf, withMeasures } from "./layout/measures.ts";
import { arrange, boxAt, type CallTree, childOf, type FoundBoxes, restFrom } from "./layout/tree.ts";
import { BoxNames } from "./paint/box-names.ts";
import { type ColourChoice, colourChoices, hasPackages } from "./paint/colour-choices.ts";
import { checkedView } from "./view.ts";

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

/** What is drawn: kept until something that it is made of changes. */
export interface GraphModel {
  boxNames: BoxNames;
  colours: readonly ColourChoice[];
  colour: ColourChoice;
  /** Of the library, by frame. */
  isLibrary: Uint8Array;
  isFolded: Uint8Array | undefined;
  /** One tree, or callers and callees of a sandwich. */
  trees: readonly MeasuredTree[];
  centre: number | undefined;
  /** Sums in the weight's unit: of everything that is drawn, of what was removed, of what is below zero and has no width. */
  shown: number;
  removed: number;
  negative: number;
  /** The sum of what a search found; undefined if nobody searches. */
  matched: number | undefined;
  /** The context that a box of the first tree is, where callers are on top. */
  contextOf(box: number): number | undefined;
}

export function useGraph(props: GraphProps): GraphModel {
  const { data, names, state, weight, weights, matches, selected } = props;
  const {
    layout = "icicle",
    boxes: group = "line",
    zoom = [],
    rest,
    removed = [],
    centre: wanted,
    colour: wantedColour,
  } = checkedView(state.graph, data.frames.length);
  const isComparison = weight.before !== undefined && weight.after !== undefined;

  const ownPackages = useMemo(() => hasPackages(data, names), [data, names]);
  const colours = useMemo(
    () => colourChoices(data, weights, { isComparison, hasPackages: ownPackages }),
    [data, weights, isComparison, ownPackages],
  );
  const colour = colours.find(({ id }) => id === wantedColour) ?? colours[0];
  const groupOf = useMemo(() => groupFrames(data.frames, names, group), [data, names, group]);
  const boxNames = useMemo(() => new BoxNames(names, group), [names, group]);
  const isLibrary = useMemo(() => libraryFrames(data.frames), [data]);
  const isFolded = state.folded ? isLibrary : undefined;
  const widths = useMemo(
    () => widthsOf(weight.after ?? weight.values, weight.before),
    [weight.values, weight.before, weight.after],
  );
  const folded = useMemo(
    () => foldContexts(data.contexts, { groupOf, isFolded, isRemoved: removedFrames(groupOf, removed) }),
    [data, groupOf, isFolded, removed.join()],
  );
  const base = useMemo(() => baseTree(folded, widths.values), [folded, widths]);
  const full = useMemo(
    () => measured(base, measuresOf(props, colour, widths.values)),
    [data, base, colour, weight, matches, selected],
  );
  const centre = useMemo(
    () => centreOf(full.tree, [wanted, state.frame, siteFrame(data, state.site)], groupOf, isLibrary),
    [full, wanted, state.frame, state.site, groupOf],
  );
  const around = layout === "sandwich" ? centre : layout === "callers" ? `${zoom.join()} ${rest}` : undefined;
  const trees = useMemo(() => {
    if (layout === "callers") return [named(callersTree(full.tree, zoom, rest), full.order)];
    if (layout !== "sandwich" || centre === undefined) return [full];
    const { callers, callees } = sandwichTrees(full.tree, centre);
    return [named(callers, full.order), named(callees, full.order)];
  }, [full, layout, around]);

  return {
    boxNames,
    colours,
    colour,
    isLibrary,
    isFolded,
    trees,
    centre,
    shown: full.tree.total[0][0],
    removed: base.removed,
    negative: widths.negative,
    matched: full.of("matched")?.[0],
    contextOf: (box) => contextOf(base, data.contexts.parent, widths.values, box),
  };
}

/** The measures that colours, outlines and tips are made of; one value a context. */
function measuresOf(
  { data, weight, matches, selected }: GraphProps,
  { ratio }: ColourChoice,
  widths: Float64Array,
): Map<MeasureName, Float64Array> {
  const measures = new Map<MeasureName, Float64Array>();
  if (matches !== undefined) measures.set("matched", widthsIn(widths, matches));
  if (selected !== undefined) measures.set("selected", widthsIn(widths, selected));
  const { before, after } = weight;
  if (before !== undefined && after !== undefined) {
    measures.set("before", before);
    measures.set("after", after);
  }
  const { merged } = data.contexts;
  if (merged !== undefined) measures.set("merged", Float64Array.from(merged));
  if (ratio !== undefined) {
    measures.set("of", ratio.of.after ?? ratio.of.values);
    measures.set("by", ratio.by.after ?? ratio.by.values);
  }
  return measures;
}

function measured(base: BaseTree, measures: ReadonlyMap<MeasureName, Float64Array>): MeasuredTree {
  return named(withMeasures(base, [...measures.values()]), [...measures.keys()]);
}

/** The frame that names the site of a context. */
function siteFrame({ contexts }: PageData, context: number | undefined): number | undefined {
  if (context === undefined || context >= contexts.length) return undefined;
  const site = contexts.site[context];
  return contexts.frame[site < 0 ? context : site];
}

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
