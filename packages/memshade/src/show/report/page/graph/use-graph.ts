import { useMemo } from "preact/hooks";
import { sum } from "../../../../ground/bytes/numbers.ts";
import type { FrameNames } from "../app/model/names.ts";
import type { PageState, SelectedBox } from "../app/state.ts";
import type { PageData, PageRatio, PageUnit } from "../data/page-data.ts";
import { BoxFinder, type FoldedContexts, foldContexts, sumsOf } from "./layout/box-finder.ts";
import { NARROWEST } from "./layout/drawn-boxes.ts";
import { groupFrames, libraryFrames, removedFrames } from "./layout/frame-groups.ts";
import { arrange, boxAt, type CallTree, childOf, type FoundBoxes, restFrom } from "./layout/tree.ts";
import { BoxNames } from "./paint/box-names.ts";
import { type Choice, checkedView } from "./view.ts";

/** Everything that is drawn, cached until one of its inputs changes. */
export interface GraphModel {
  boxNames: BoxNames;
  colours: readonly ColourChoice[];
  colour: ColourChoice;
  /** 1 for library frames. */
  isLibrary: Uint8Array;
  isFolded: Uint8Array | undefined;
  /** A single tree, or callers and callees of a sandwich. */
  trees: readonly MeasuredTree[];
  centre: number | undefined;
  /**
   * Sums in the weight's unit: of everything drawn, of removed boxes, and of negative amounts, which have no
   * width.
   */
  shown: number;
  removed: number;
  negative: number;
  /** Sum of the matches of a search; undefined without a search. */
  matched: number | undefined;
  /** Returns the context of a box of the first tree, if callers are on top. */
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

/** Returns the measures for colours, outlines and tooltips; one value per context. */
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

/** Returns the frame that names the site of a context. */
function siteFrame({ contexts }: PageData, context: number | undefined): number | undefined {
  if (context === undefined || context >= contexts.length) return undefined;
  const site = contexts.site[context];
  return contexts.frame[site < 0 ? context : site];
}

/**
 * Returns the centre frame of a sandwich: the first wanted frame that has a box. Else the innermost frame of
 * the program's own code above the box with the largest own amount. Undefined in a tree without boxes.
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

/** Starting points of inverted stacks: boxes of a tree, and the amount of each measure that starts there. */
interface Seeds {
  boxes: Int32Array;
  values: readonly Float64Array[];
}

/** Limits of an inverted tree: its boxes multiply with every step, and few are wide enough to see. */
interface Detail {
  /** Zoomed path of frames. Boxes beside the path get no further children. */
  zoom: readonly number[];
  /** Least part of the zoomed box (0 to 1) for a box to get children. */
  share: number;
}

/** Returns all boxes with amounts of their own. */
export function ownSeeds({ count, own }: CallTree): Seeds {
  const boxes = new Int32Array(count);
  let found = 0;
  for (let box = 1; box < count; box++) if (own.some((column) => column[box] !== 0)) boxes[found++] = box;
  return seedsAt(boxes.subarray(0, found), own);
}

/** Returns the outermost boxes of a frame with their totals: recursive calls count once. */
function outermostSeeds({ count, parent, frame, total }: CallTree, wanted: number): Seeds {
  const isInside = new Uint8Array(count);
  const boxes: number[] = [];
  for (let box = 1; box < count; box++) {
    if (isInside[parent[box]] === 0 && frame[box] === wanted) boxes.push(box);
    if (isInside[parent[box]] === 1 || frame[box] === wanted) isInside[box] = 1;
  }
  return seedsAt(Int32Array.from(boxes), total);
}

function seedsAt(boxes: Int32Array, columns: readonly Float64Array[]): Seeds {
  const pick = (column: Float64Array) => {
    const values = new Float64Array(boxes.length);
    for (let row = 0; row < boxes.length; row++) values[row] = column[boxes[row]];
    return values;
  };
  return { boxes, values: columns.map(pick) };
}

/** A box of the inverted tree and its sources: boxes of the original tree, each with its share. */
interface Holding extends Seeds {
  box: number;
  /**
   * Number of the zoomed path's frames that lead here; the whole path's length for all boxes below; −1 beside
   * the path.
   */
  followed: number;
}

/**
 * Inverts a tree: below the root stand the frames of the seeds, below each frame its callers. A box's own
 * amount is the amount without a caller, or its total if its callers were not searched.
 */
export function invert(tree: CallTree, seeds: Seeds, { zoom, share }: Detail): FoundBoxes {
  const finder = new BoxFinder();
  const callers = new Callers(tree);
  const own = seeds.values.map(() => [0]);
  let least: number | undefined;
  const holdings: Holding[] = [{ box: 0, followed: 0, ...seeds }];
  // The loop also visits holdings added meanwhile.
  for (const holding of holdings) {
    const { box, followed } = holding;
    const size = sum(holding.values[0]);
    const isBelowZoom = followed === zoom.length;
    if (isBelowZoom) least ??= share * size;
    if (followed >= 0 && !(isBelowZoom && size < least!)) {
      // The root's children are the seeds themselves.
      const { ended, merged } = box === 0 ? { ended: undefined, merged: seeds } : callers.of(holding);
      if (ended !== undefined) for (const [measure, value] of ended.entries()) own[measure][box] = value;
      for (const child of split(tree, merged, (frame) => finder.below(box, frame))) {
        for (const column of own) column[child.box] = 0;
        const frame = finder.frameOf(child.box);
        holdings.push({
          ...child,
          followed: isBelowZoom ? followed : frame === zoom[followed] ? followed + 1 : -1,
        });
      }
    } else for (const [measure, values] of holding.values.entries()) own[measure][box] = sum(values);
  }
  return finder.finish(own.map((values) => Float64Array.from(values)));
}

/** Finds the callers of many boxes at once. The arrays have the length of the tree and are reused. */
class Callers {
  readonly #tree: CallTree;
  /** Index of each box of the tree among the merged ones, valid for the query in `#question`. */
  readonly #place: Int32Array;
  readonly #question: Int32Array;
  #queries = 0;

  constructor(tree: CallTree) {
    this.#tree = tree;
    this.#place = new Int32Array(tree.count);
    this.#question = new Int32Array(tree.count);
  }

  /**
   * Returns the boxes that called those of a holding, without duplicates, and the sums per measure of boxes
   * without a caller.
   */
  of({ boxes, values }: Seeds): { ended: number[]; merged: Seeds } {
    this.#queries += 1;
    const { parent } = this.#tree;
    const called = new Int32Array(boxes.length);
    const sums = values.map(() => new Float64Array(boxes.length));
    const ended = values.map(() => 0);
    let count = 0;
    for (let row = 0; row < boxes.length; row++) {
      const caller = parent[boxes[row]];
      if (caller === 0) {
        for (let measure = 0; measure < values.length; measure++) ended[measure] += values[measure][row];
        continue;
      }
      if (this.#question[caller] !== this.#queries) {
        this.#question[caller] = this.#queries;
        this.#place[caller] = count;
        called[count++] = caller;
      }
      const place = this.#place[caller];
      for (let measure = 0; measure < values.length; measure++) sums[measure][place] += values[measure][row];
    }
    return {
      ended,
      merged: { boxes: called.subarray(0, count), values: sums.map((column) => column.subarray(0, count)) },
    };
  }
}

/**
 * Groups boxes of a tree by the box that `boxOf` returns for their frame. New boxes have consecutive numbers.
 */
function split(
  tree: CallTree,
  { boxes, values }: Seeds,
  boxOf: (frame: number) => number,
): (Seeds & { box: number })[] {
  if (boxes.length === 0) return [];
  const target = new Int32Array(boxes.length);
  let last = 0;
  for (let row = 0; row < boxes.length; row++) {
    target[row] = boxOf(tree.frame[boxes[row]]);
    last = Math.max(last, target[row]);
  }
  const first = target[0];
  const start = new Int32Array(last - first + 2);
  for (const box of target) start[box - first + 1] += 1;
  for (let part = 1; part < start.length; part++) start[part] += start[part - 1];
  const next = start.slice();
  const sorted = new Int32Array(boxes.length);
  const columns = values.map(() => new Float64Array(boxes.length));
  for (let row = 0; row < boxes.length; row++) {
    const at = next[target[row] - first]++;
    sorted[at] = boxes[row];
    for (let measure = 0; measure < values.length; measure++) columns[measure][at] = values[measure][row];
  }
  return Array.from({ length: last - first + 1 }, (_, part) => ({
    box: first + part,
    boxes: sorted.subarray(start[part], start[part + 1]),
    values: columns.map((column) => column.subarray(start[part], start[part + 1])),
  }));
}

/** Widest picture in CSS pixels in which all visible boxes exist; boxes too narrow for it get no callers. */
const WIDEST = 1600;

/** Least visible part of such a picture. */
const SHARE = NARROWEST / WIDEST;

/**
 * Returns the callers of the sites, as detailed as the zoom can show.
 *
 * @param rest frame of the first visible child of the zoomed box
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

/**
 * Returns both sides of a frame: its callers and its callees. Each tree has the frame alone below its root.
 */
export function sandwichTrees(tree: CallTree, centre: number): { callers: CallTree; callees: CallTree } {
  return {
    callers: inverted(tree, outermostSeeds(tree, centre), [centre]),
    callees: arrange(calleesOf(tree, centre)).tree,
  };
}

function inverted(tree: CallTree, seeds: Seeds, zoom: readonly number[]): CallTree {
  const build = (path: readonly number[]) => arrange(invert(tree, seeds, { zoom: path, share: SHARE })).tree;
  const built = build(zoom);
  // A path that does not exist to its end is cut to the part that exists.
  const depth = built.depth[boxAt(built, zoom)];
  return depth < zoom.length ? build(zoom.slice(0, depth)) : built;
}

/** Returns everything below the outermost boxes of a frame, as a tree with the frame below the root. */
export function calleesOf(tree: CallTree, wanted: number): FoundBoxes {
  const finder = new BoxFinder();
  // New box of each box of the tree; −1 for boxes that are not below the frame.
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

/** A tree with the one measure that determines widths, and the box of each context. */
interface BaseTree {
  tree: CallTree;
  /** Box of each context; −1 if it was removed. */
  boxOf: Int32Array;
  /** Removed amount, in the measure's unit. */
  removed: number;
}

/** Lays out folded contexts by their own amounts. */
export function baseTree(folded: FoldedContexts, widths: Float64Array): BaseTree {
  const { own, removed } = sumsOf(folded, widths);
  const { tree, placeOf } = arrange({ ...folded, own: [own] });
  const boxOf = new Int32Array(folded.boxOf.length);
  for (let context = 0; context < boxOf.length; context++) {
    const box = folded.boxOf[context];
    boxOf[context] = box < 0 ? box : placeOf[box];
  }
  return { tree, boxOf, removed };
}

/** Appends measures to a tree in the given order; one value per context. */
export function withMeasures({ tree, boxOf }: BaseTree, measures: readonly Float64Array[]): CallTree {
  const own = measures.map((values) => {
    const sums = new Float64Array(tree.count);
    for (let context = 0; context < boxOf.length; context++)
      if (boxOf[context] >= 0) sums[boxOf[context]] += values[context];
    return sums;
  });
  const total = own.map((values) => {
    const sums = values.slice();
    for (let box = tree.count - 1; box > 0; box--) sums[tree.parent[box]] += sums[box];
    return sums;
  });
  return { ...tree, own: [...tree.own, ...own], total: [...tree.total, ...total] };
}

/** Drawable widths, and the sum of the amounts below zero, which cannot be drawn. */
interface Widths {
  values: Float64Array;
  negative: number;
}

/**
 * Returns a width per context: its value; in a comparison the larger value of both runs, so that both fit
 * into one layout.
 */
export function widthsOf(values: Float64Array, before: Float64Array | undefined): Widths {
  const widths = new Float64Array(values.length);
  let negative = 0;
  for (let context = 0; context < values.length; context++) {
    const value = before === undefined ? values[context] : Math.max(values[context], before[context]);
    if (value > 0) widths[context] = value;
    else negative += value;
  }
  return { values: widths, negative };
}

/** Returns the widths of the contexts that are 1 in `chosen`; 0 for the others. */
function widthsIn(widths: Float64Array, chosen: Uint8Array): Float64Array {
  const part = new Float64Array(widths.length);
  for (let context = 0; context < part.length; context++)
    if (chosen[context] === 1) part[context] = widths[context];
  return part;
}

/**
 * Returns the context of a box. If several contexts are drawn as one, the largest, callees included.
 * Undefined for the root.
 */
export function contextOf(
  { boxOf }: Pick<BaseTree, "boxOf">,
  parent: Int32Array,
  widths: Float64Array,
  box: number,
): number | undefined {
  const total = widths.slice();
  for (let context = parent.length - 1; context >= 0; context--)
    if (parent[context] >= 0) total[parent[context]] += total[context];
  let most: number | undefined;
  for (let context = 0; context < boxOf.length; context++)
    if (boxOf[context] === box && (most === undefined || total[context] > total[most])) most = context;
  return most;
}

/** Names of measures that a tree may have beside the one that determines widths. */
type MeasureName = "matched" | "selected" | "before" | "after" | "of" | "by" | "merged";

/** A tree with named columns. */
export interface MeasuredTree {
  tree: CallTree;
  /** Names of the columns after the first. */
  order: readonly MeasureName[];
  /** Returns the totals of each box; undefined if not measured. */
  of(name: MeasureName): Float64Array | undefined;
}

function named(tree: CallTree, order: readonly MeasureName[]): MeasuredTree {
  return {
    tree,
    order,
    of(name) {
      const index = order.indexOf(name);
      return index < 0 ? undefined : tree.total[index + 1];
    },
  };
}

/** A choice of colours: by package or file, by difference of the runs, or by the ratio of two weights. */
export interface ColourChoice extends Choice {
  readonly ratio?:
    | { readonly of: GraphWeight; readonly by: GraphWeight; readonly words: PageRatio }
    | undefined;
}

/** Returns the choices of colours; the first is the default. */
function colourChoices(
  data: PageData,
  weights: readonly GraphWeight[],
  { isComparison, hasPackages }: { readonly isComparison: boolean; readonly hasPackages: boolean },
): ColourChoice[] {
  const weight = (id: string) => weights.find((candidate) => candidate.id === id);
  const ratios = data.ratios.flatMap((words): ColourChoice[] => {
    const [of, by] = [weight(words.of), weight(words.by)];
    return of && by ? [{ id: words.id, label: words.label, ratio: { of, by, words } }] : [];
  });
  const places = [
    { id: "package", label: "package" },
    { id: "file", label: "file" },
  ];
  return [
    ...(isComparison ? [{ id: "difference", label: "difference" }] : []),
    ...(hasPackages ? places : places.reverse()),
    ...ratios,
  ];
}

/** True if the program's own code has several packages; with one, colours by package carry no information. */
function hasPackages(data: PageData, names: FrameNames): boolean {
  let first: string | undefined;
  for (let frame = 0; frame < data.frames.length; frame++) {
    if (names.is(frame, "library") || names.is(frame, "allocator") || names.is(frame, "others")) continue;
    const name = names.package(frame);
    if (first !== undefined && name !== first) return true;
    first = name;
  }
  return false;
}

/** Amounts per context, of the whole run or of a range. */
export interface GraphWeight {
  readonly id: string;
  readonly label: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** Own amount of each context. */
  readonly values: Float64Array;
  /** Amounts of both runs, in a comparison. */
  readonly before?: Float64Array | undefined;
  readonly after?: Float64Array | undefined;
  /** True if a range is selected but these amounts are not available for it. */
  readonly isWholeRun: boolean;
  /** Sentence for amounts that were not simply counted. */
  readonly caution?: string | undefined;
}

export interface GraphProps {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly state: Pick<PageState, "folded" | "side" | "graph" | "site" | "frame">;
  /** Weight that determines widths. */
  readonly weight: GraphWeight;
  /** Weights that the user can select, also for ratios. */
  readonly weights: readonly GraphWeight[];
  /** 1 for each context that matches the search; absent without a search. */
  readonly matches?: Uint8Array | undefined;
  /** 1 for each selected context; absent without a selection. */
  readonly selected?: Uint8Array | undefined;
  /** Formats the margin of error of a box's weight; absent if everything was counted. */
  readonly marginOf?: ((box: SelectedBox) => string) | undefined;
  onChange(part: Partial<PageState>): void;
}
