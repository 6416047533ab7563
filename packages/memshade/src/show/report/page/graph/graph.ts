import { h, type TargetedEvent } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { counted } from "../../../../profile/model/counted.ts";
import { amount, amountInWords, difference, formatCount, formatPercent } from "../app/parts/amounts.ts";
import { el, tableHead } from "../app/parts/element.ts";
import { shown } from "../app/parts/shown-text.ts";
import type { PageState, SelectedBox } from "../app/state.ts";
import { boxAt, type CallTree, childOf, pathTo, restFrom } from "./layout/tree.ts";
import type { BoxNames } from "./paint/box-names.ts";
import { byCategory, byDifference, byRatio, type Colouring, largestCategories } from "./paint/colouring.ts";
import { type Palette, toText } from "./paint/palette.ts";
import { usePalette } from "./paint/use-palette.ts";
import { type BoxDescription, Picture } from "./picture.ts";
import {
  type ColourChoice,
  type GraphModel,
  type GraphProps,
  type GraphWeight,
  type MeasuredTree,
  useGraph,
} from "./use-graph.ts";
import {
  BOX_GROUPS,
  type BoxGroup,
  type Choice,
  checkedView,
  type GraphView,
  isFromTop,
  type Layout,
} from "./view.ts";

const LAYOUT_WORDS: readonly (readonly [Layout, label: string, title: string])[] = [
  ["icicle", "Icicle", "Callers on top, callees below"],
  ["flame", "Flame", "Callers at the bottom, callees above"],
  ["callers", "Bottom-up", "Sites on top, their callers below"],
  ["sandwich", "Sandwich", "One function in the middle, with its callers and callees"],
];

const GROUP_WORDS: Readonly<Record<BoxGroup, string>> = {
  line: "lines",
  function: "functions",
  file: "files",
  package: "packages",
};

/** View without zoom. */
const WHOLE = { zoom: [], rest: undefined };

interface GraphBarProps {
  layout: Layout;
  boxes: BoxGroup;
  colour: string;
  colours: readonly Choice[];
  onChange(part: Partial<GraphView>): void;
}

function GraphBar({ layout, boxes, colour, colours, onChange }: GraphBarProps) {
  return el(
    "div.graph-bar",
    h(
      "div",
      { class: "graph-layouts", role: "group", "aria-label": "Layout" },
      LAYOUT_WORDS.map(([id, label, title]) =>
        h(
          "button",
          {
            key: id,
            type: "button",
            title,
            "aria-pressed": id === layout,
            // A zoom path does not fit a layout that starts at the other end.
            onClick: () => onChange({ layout: id, ...(isFromTop(id) === isFromTop(layout) ? {} : WHOLE) }),
          },
          label,
        ),
      ),
    ),
    chooser("Colour", colours, colour, (id) => onChange({ colour: id })),
    chooser(
      "Boxes",
      BOX_GROUPS.map((id) => ({ id, label: GROUP_WORDS[id] })),
      boxes,
      (id) => onChange({ boxes: id as BoxGroup, ...WHOLE }),
    ),
  );
}

function chooser(label: string, choices: readonly Choice[], chosen: string, onChoice: (id: string) => void) {
  return el(
    "label",
    label,
    h(
      "select",
      {
        value: chosen,
        onChange: (event: TargetedEvent<HTMLSelectElement>) => onChoice(event.currentTarget.value),
      },
      choices.map(({ id, label }) => h("option", { key: id, value: id, selected: id === chosen }, label)),
    ),
  );
}

/**
 * Breadcrumbs from the whole to the zoomed box; each step zooms back out. Always shown, so that the picture
 * below does not move.
 */
function Zoomed(props: {
  path: readonly number[];
  /** Label of several boxes below the path that are zoomed to together. */
  rest: string | undefined;
  names: BoxNames;
  /** Number of merged call paths of each box on the path, root first; absent if unknown. */
  merged?: readonly number[] | undefined;
  onZoom(path: readonly number[]): void;
}) {
  const { path, rest, names, merged, onZoom } = props;
  const here = (label: string) => h("strong", { "aria-current": "location" }, label);
  return h(
    "nav",
    { "aria-label": "Zoomed to" },
    el(
      "ol.graph-crumbs",
      [-1, ...path].map((frame, depth) =>
        h(
          "li",
          { key: depth },
          depth === path.length && rest === undefined
            ? here(names.line(frame, merged?.[depth]))
            : h(
                "button",
                { type: "button", onClick: () => onZoom(path.slice(0, depth)) },
                names.label(frame, merged?.[depth]),
              ),
        ),
      ),
      rest !== undefined && h("li", { key: "rest" }, here(rest)),
    ),
  );
}

/** Functions removed from the graph, with buttons that restore them. */
function Removed(props: {
  frames: readonly number[];
  names: BoxNames;
  amount: string;
  onChange(frames: readonly number[]): void;
}) {
  const { frames, names, amount, onChange } = props;
  if (frames.length === 0) return null;
  return h(
    "div",
    { class: "graph-removed", role: "group", "aria-label": "Removed" },
    el("span", `Removed, ${amount} in all:`),
    frames.map((frame) =>
      h(
        "button",
        {
          key: frame,
          type: "button",
          title: "Restore",
          onClick: () => onChange(frames.filter((removedFrame) => removedFrame !== frame)),
        },
        `${names.line(frame)} ✕`,
      ),
    ),
    frames.length > 1 && h("button", { type: "button", onClick: () => onChange([]) }, "Restore all"),
  );
}

/** Legend of all pictures, without duplicates. */
function Legend({ colourings }: { colourings: readonly Colouring[] }) {
  const entries = new Map(
    colourings.flatMap(({ legend, fills }) =>
      legend.map(({ label, fill }): [string, string] => [label, toText(fills[fill])]),
    ),
  );
  return h(
    "ul",
    { class: "graph-legend", "aria-label": "Colours" },
    [...entries].map(([label, background]) =>
      h("li", { key: label }, h("i", { style: { background } }), h("span", { title: label }, label)),
    ),
  );
}

export function Graph(props: GraphProps) {
  const { state, weight, onChange } = props;
  const view = checkedView(state.graph, props.data.frames.length);
  const { layout = "icicle", boxes = "line", zoom = [], removed = [] } = view;
  const element = useRef<HTMLDivElement>(null);
  const palette = usePalette(element);
  const model = useGraph(props);
  const colourings = useColouring(props, model, palette);
  const { boxNames, colour, colours, trees } = model;

  const changeView = (part: Partial<GraphView>) => onChange({ graph: { ...view, ...part } });
  const words = (value: number) => amountInWords(value, weight.unit, weight.clock);
  const main = trees[0].tree;
  const zoomed = boxAt(main, zoom);
  const from = restOf(main, zoomed, view);
  const more = from === undefined ? undefined : restFrom(main, from);
  const drawing = { props, view, model, colourings, palette };
  return h(
    "div",
    { class: "graph", ref: element },
    h(GraphBar, {
      layout,
      boxes,
      colours,
      colour: colour.id,
      onChange: changeView,
    }),
    h(Notes, { data: props.data, weight, model }),
    h(Removed, {
      frames: removed,
      names: boxNames,
      amount: words(model.removed),
      onChange: (frames) => changeView({ removed: frames }),
    }),
    layout !== "sandwich" &&
      h(Zoomed, {
        path: pathTo(main, zoomed),
        names: boxNames,
        merged: mergedOnWay(trees[0], zoomed),
        rest: more && `${formatCount(more.count)} more`,
        onZoom: (path) => pickBox(drawing, 0, boxAt(main, path)),
      }),
    trees.map((_, index) => h(Half, { key: `${layout}${index}`, ...drawing, index })),
    colourings !== undefined && h(Legend, { colourings }),
  );
}

/** Returns the number of merged call paths of each box from the root to `box`; undefined if unknown. */
function mergedOnWay({ tree, of }: MeasuredTree, box: number): number[] | undefined {
  const merged = of("merged");
  if (merged === undefined) return undefined;
  const way: number[] = [];
  for (let at = box; at >= 0; at = tree.parent[at]) way.push(merged[at]);
  return way.reverse();
}

/** Zooms to a box and selects its contexts, so that all views show its sum. */
function pickBox(
  { props: { onChange }, view, model }: Pick<HalfProps, "props" | "view" | "model">,
  index: number,
  box: number,
  isRest = false,
): void {
  const { boxes = "line" } = view;
  const isHalf = model.trees.length > 1;
  const path = pathTo(model.trees[index].tree, box);
  const frame = path.at(-1);
  if (frame === undefined) {
    onChange({ ...NOTHING_SELECTED, graph: { ...view, ...WHOLE } });
    return;
  }
  if (isRest) {
    if (!isHalf) onChange({ ...NOTHING_SELECTED, graph: { ...view, zoom: path.slice(0, -1), rest: frame } });
    return;
  }
  const picked = boxPath(view, isHalf, index, path);
  onChange({
    ...NOTHING_SELECTED,
    graph: { ...view, centre: frame, ...(isHalf ? {} : { ...WHOLE, zoom: path }) },
    // A sandwich is centred on the clicked box: the selection is everything that goes through it.
    box: picked,
    ...(picked.from === "root" ? { site: model.contextOf(box) } : { frame, frameOf: boxes }),
  });
}

function boxPath(
  { layout = "icicle", boxes = "line" }: GraphView,
  isHalf: boolean,
  index: number,
  path: readonly number[],
): SelectedBox {
  const from = isHalf ? (index === 0 ? "callers" : "callees") : isFromTop(layout) ? "root" : "site";
  return { from, by: boxes, path };
}

const NOTHING_SELECTED = {
  site: undefined,
  frame: undefined,
  box: undefined,
  alone: undefined,
  finding: undefined,
};

/** Returns the first visible child of the zoomed box, if the view is restricted to some of them. */
function restOf(tree: CallTree, zoomed: number, { rest }: GraphView): number | undefined {
  return rest === undefined ? undefined : childOf(tree, zoomed, rest);
}

interface HalfProps {
  props: GraphProps;
  view: GraphView;
  model: GraphModel;
  colourings: readonly Colouring[] | undefined;
  palette: Palette | undefined;
  /** Index of the tree in the model. */
  index: number;
}

/** A tree as picture and table: the only tree, or half of a sandwich. */
function Half({ props, view, model, colourings, palette, index }: HalfProps) {
  const { state, weight, onChange } = props;
  const { layout = "icicle" } = view;
  const { boxNames, colour, trees, centre } = model;
  const measured = trees[index];
  const { tree } = measured;
  const isHalf = trees.length > 1;
  const hasCallersBelow = layout === "callers" || (isHalf && index === 0);
  const zoomed = boxAt(tree, isHalf && centre !== undefined ? [centre] : (view.zoom ?? []));
  const from = isHalf ? undefined : restOf(tree, zoomed, view);
  const words = (value: number) => amountInWords(value, weight.unit, weight.clock);

  const pick = (box: number, isRest = false) => pickBox({ props, view, model }, index, box, isRest);
  const marginOf = (box: number): string => {
    const path = pathTo(tree, box);
    return path.length === 0 ? "" : (props.marginOf?.(boxPath(view, isHalf, index, path)) ?? "");
  };
  const described = { names: boxNames, weight, colour, isFolded: model.isFolded, hasOwn: !hasCallersBelow };
  const describe = (box: number, rest?: { count: number; value: number }) =>
    describeBox(measured, described, box, rest, rest === undefined ? marginOf(box) : "");
  const centreName = isHalf ? boxNames.line(centre!, measured.of("merged")?.[0]) : "";
  const heading = !isHalf
    ? undefined
    : hasCallersBelow
      ? `Callers of ${centreName}`
      : `What ${centreName} called`;
  return el(
    "div.graph-half",
    heading !== undefined && el("h3", heading),
    palette !== undefined &&
      colourings?.[index] !== undefined &&
      h(Picture, {
        tree,
        zoomed,
        from,
        palette,
        describe,
        names: boxNames,
        colouring: colourings[index],
        amountOf: (box) => amountOf(measured, weight, state.side, box),
        top: isHalf ? 1 : 0,
        isUp: layout === "flame" || (isHalf && hasCallersBelow),
        label: `${heading ?? "Calling contexts"}, ${weight.label}: ${words(tree.total[0][0])}`,
        matched: measured.of("matched"),
        merged: measured.of("merged"),
        selected: measured.of("selected"),
        side: state.side === "difference" ? undefined : measured.of(state.side),
        onPick: pick,
        onRemove: (box) =>
          onChange({ graph: { ...view, removed: [...(view.removed ?? []), tree.frame[box]] } }),
        onLeave:
          (view.zoom ?? []).length === 0 && from === undefined
            ? undefined
            : () => onChange({ graph: { ...view, ...WHOLE } }),
      }),
    h(BoxesTable, {
      tree,
      zoomed,
      describe,
      marginOf,
      format: words,
      onPick: pick,
      hasOwn: !hasCallersBelow,
      share: (value) => formatPercent(value, tree.total[0][0]),
    }),
  );
}

/** Notes on the figures, and the result of a search. */
export function Notes({ data, weight, model }: Pick<GraphProps, "data" | "weight"> & { model: GraphModel }) {
  const words = (value: number) => amountInWords(value, weight.unit, weight.clock);
  const { shown, matched, negative } = model;
  const sentences = [
    weight.isWholeRun && "Whole run: this was not recorded over time.",
    weight.caution,
    shown === 0 && "This figure is zero here.",
    data.head.merged !== undefined &&
      `The ${counted(data.head.merged.contexts, "smallest call path")} were merged: the functions between a kept caller and their sites are shown as one box, “others”. Source has the sums of all lines with calls.`,
    negative < 0 && `${words(negative)} cannot be drawn: these contexts freed more than they allocated.`,
  ].filter((sentence) => typeof sentence === "string");
  return el(
    "div.graph-notes",
    matched !== undefined &&
      h(
        "p",
        { class: "graph-note", role: "status" },
        el("mark", `found ${words(matched)}`),
        ` of ${words(shown)}, ${formatPercent(matched, shown)}`,
      ),
    sentences.map((sentence) => h("p", { class: "graph-note", key: sentence }, sentence)),
  );
}

/** Returns the colours of each tree's boxes; undefined until the page's colours are known. */
export function useColouring(
  { data, names }: GraphProps,
  { trees, colour, isLibrary }: GraphModel,
  palette: Palette | undefined,
): readonly Colouring[] | undefined {
  const isByFile = colour.id === "file";
  const colourCount = palette?.series.length ?? 1;
  // Categories come from the whole run and the first weight, so that a range or another weight leaves the
  // colours unchanged.
  const categories = useMemo(() => {
    const categoryByFrame: string[] = [];
    const categoryOf = (frame: number): string => {
      categoryByFrame[frame] ??= shown(
        isByFile && !names.is(frame, "others")
          ? (names.file(frame) ?? names.module(frame) ?? "unknown")
          : names.package(frame),
      );
      return categoryByFrame[frame];
    };
    const values = data.weights[0]?.values ?? new Float64Array(data.contexts.length);
    return {
      named: largestCategories(data.contexts, values, categoryOf, colourCount),
      of: categoryOf,
      isLibrary,
    };
  }, [data, names, isByFile, colourCount, isLibrary]);

  return useMemo(() => {
    if (palette === undefined) return undefined;
    const colouringOf = (measured: MeasuredTree): Colouring => {
      const [of, by, before, after] = (["of", "by", "before", "after"] as const).map((name) =>
        measured.of(name),
      );
      if (colour.ratio !== undefined && of && by) {
        const { label, unit, clock } = colour.ratio.words;
        return byRatio([of, by], palette, {
          label,
          format: (ratio) => amount(ratio, unit, clock),
        });
      }
      if (colour.id === "difference" && before && after) return byDifference(before, after, palette);
      return byCategory(measured.tree, categories, palette);
    };
    return trees.map(colouringOf);
  }, [trees, colour, palette, categories]);
}

interface Described {
  names: BoxNames;
  weight: GraphWeight;
  colour: ColourChoice;
  /** 1 for each frame whose box includes the library frames that it calls. */
  isFolded?: Uint8Array | undefined;
  /** False if callers are below: then boxes have no amount of their own. */
  hasOwn: boolean;
}

/** Formats the amount of a box; in a comparison that of one side, or the difference. */
function amountOf(
  { tree, of }: MeasuredTree,
  { unit, clock }: GraphWeight,
  side: PageState["side"],
  box: number,
): string {
  const ofSide = side === "difference" ? undefined : of(side);
  if (ofSide !== undefined) return amountInWords(ofSide[box], unit, clock);
  const [before, after] = [of("before")?.[box], of("after")?.[box]];
  return before === undefined || after === undefined
    ? amountInWords(tree.total[0][box], unit, clock)
    : difference(after - before, unit, clock);
}

/** Describes a box for its tooltip and for screen readers. */
function describeBox(
  { tree, of }: MeasuredTree,
  { names, weight, colour, isFolded, hasOwn }: Described,
  box: number,
  rest?: { count: number; value: number },
  margin = "",
): BoxDescription {
  const inWords = (value: number) => amountInWords(value, weight.unit, weight.clock);
  const whole = tree.total[0][0];
  const shareOf = (value: number, off = "") =>
    `${inWords(value)}${off}, ${formatPercent(value, whole)} of ${inWords(whole)}`;
  if (rest !== undefined)
    return {
      name: `${rest.count} more`,
      place: "",
      facts: [shareOf(rest.value), "each is too narrow to be drawn"],
    };
  const frame = tree.frame[box];
  const value = tree.total[0][box];
  const facts: string[] = [];
  const [before, after] = [of("before")?.[box], of("after")?.[box]];
  if (before !== undefined && after !== undefined)
    facts.push(
      `${difference(after - before, weight.unit, weight.clock)}: ${inWords(before)} before, ${inWords(after)} after`,
    );
  else facts.push(shareOf(value, margin));
  const own = tree.own[0][box];
  if (hasOwn && own > 0 && own < value) facts.push(`own ${inWords(own)}`);
  const matched = of("matched")?.[box] ?? 0;
  if (matched > 0 && matched < value) facts.push(`${inWords(matched)} match the search`);
  if (colour.ratio !== undefined) {
    const [part, by] = [of("of")![box], of("by")![box]];
    const { label, unit, clock } = colour.ratio.words;
    if (by > 0) facts.push(`${label}: ${amount(part / by, unit, clock)}`);
  }
  const merged = of("merged")?.[box] ?? 0;
  if (merged > 0) facts.push(`includes ${counted(merged, "merged call path")}`);
  if (frame >= 0 && isFolded?.[frame] === 1) facts.push("with the library's frames that it calls");
  return { ...names.full(frame, merged), facts };
}

interface BoxesTableProps {
  tree: CallTree;
  zoomed: number;
  /** False if callers are below: then boxes have no amount of their own. */
  hasOwn: boolean;
  describe(box: number): BoxDescription;
  /** Returns the margin of error of a box's amount. */
  marginOf(box: number): string;
  format(value: number): string;
  share(value: number): string;
  onPick(box: number): void;
}

/** Most rows of the table; a line below it sums up the rest. */
const MOST_ROWS = 200;
/** Boxes with less than one part in so many of the total are left out. */
const SMALLEST_PART = 1000;

/** Boxes of a graph as a table, callers before their callees. */
function BoxesTable(props: BoxesTableProps) {
  const [isOpen, setIsOpen] = useState(false);
  return h(
    "details",
    {
      class: "graph-table",
      onToggle: (event: TargetedEvent<HTMLDetailsElement>) => setIsOpen(event.currentTarget.open),
    },
    el("summary", "As a table"),
    isOpen && h(Rows, props),
  );
}

function Rows({ tree, zoomed, hasOwn, describe, marginOf, format, share, onPick }: BoxesTableProps) {
  const { boxes, left } = largestBoxes(tree, zoomed);
  const [own, total] = [tree.own[0], tree.total[0]];
  const row = (box: number) => {
    const { name, place } = describe(box);
    return h(
      "tr",
      { key: box },
      el("td", tree.depth[box]),
      el("td", h("button", { type: "button", class: "link", onClick: () => onPick(box) }, name)),
      el("td", place),
      el("td", format(total[box]), marginOf(box)),
      el("td", share(total[box])),
      hasOwn && el("td", format(own[box])),
    );
  };
  const heads = ["Level", "Box", "Place", "Total", "Share", ...(hasOwn ? ["Own"] : [])];
  return el(
    "table",
    tableHead(heads),
    el("tbody", boxes.map(row)),
    left > 0 &&
      el("caption", `${left} smaller boxes are not listed; their amounts are included in their callers.`),
  );
}

/** Returns the large boxes below and including `from`, callers first, and the number of the others. */
function largestBoxes(tree: CallTree, from: number): { boxes: number[]; left: number } {
  const total = tree.total[0];
  const waiting = [from];
  let seen = 0;
  const boxes: number[] = [];
  while (waiting.length > 0) {
    const box = waiting.pop()!;
    seen += 1;
    if (boxes.length < MOST_ROWS && total[box] * SMALLEST_PART >= total[from]) boxes.push(box);
    for (let child = tree.childEnd[box] - 1; child >= tree.childStart[box]; child--) waiting.push(child);
  }
  return { boxes, left: seen - boxes.length };
}
