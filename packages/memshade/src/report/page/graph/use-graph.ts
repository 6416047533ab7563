import { useMemo } from "preact/hooks";
import type { PageData } from "../data/page-data.ts";
import type { GraphProps } from "./graph-props.ts";
import { centreOf } from "./layout/centre.ts";
import { foldContexts } from "./layout/fold.ts";
import { groupFrames, libraryFrames } from "./layout/frame-groups.ts";
import { type MeasuredTree, type MeasureName, named } from "./layout/measured-tree.ts";
import { type BaseTree, baseTree, contextOf, widthsIn, widthsOf, withMeasures } from "./layout/measures.ts";
import { callersTree, sandwichTrees } from "./layout/trees.ts";
import { BoxNames } from "./paint/box-names.ts";
import { type ColourChoice, colourChoices, hasPackages } from "./paint/colour-choices.ts";
import { checkedView } from "./view.ts";

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
  const folded = useMemo(() => {
    const isRemoved = new Uint8Array(data.frames.length);
    for (const frame of removed) if (frame < isRemoved.length) isRemoved[groupOf[frame]] = 1;
    return foldContexts(data.contexts, { groupOf, isFolded, isRemoved });
  }, [data, groupOf, isFolded, removed.join()]);
  const base = useMemo(() => baseTree(folded, widths.values), [folded, widths]);
  const full = useMemo(
    () => measured(base, measuresOf(props, colour, widths.values)),
    [base, colour, weight, matches, selected],
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
    ...{ boxNames, colours, colour, isLibrary, isFolded, trees, centre },
    shown: full.tree.total[0][0],
    removed: base.removed,
    negative: widths.negative,
    matched: full.of("matched")?.[0],
    contextOf: (box) => contextOf(base, data.contexts.parent, widths.values, box),
  };
}

/** The measures that colours, outlines and tips are made of; one value a context. */
function measuresOf(
  { weight, matches, selected }: GraphProps,
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
