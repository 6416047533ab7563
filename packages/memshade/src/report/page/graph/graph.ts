import { h } from "preact";
import { useRef } from "preact/hooks";
import { amountInWords, formatCount, formatPercent } from "../app/parts/amounts.ts";
import { BoxesTable } from "./boxes-table.ts";
import { GraphBar, Legend, Removed, WHOLE, Zoomed } from "./controls.ts";
import { amountOf, describeBox } from "./describe.ts";
import type { GraphProps } from "./graph-props.ts";
import { boxAt, type CallTree, childOf, pathTo, restFrom } from "./layout/tree.ts";
import { Notes } from "./notes.ts";
import type { Colouring } from "./paint/colouring.ts";
import type { Palette } from "./paint/palette.ts";
import { usePalette } from "./paint/use-palette.ts";
import { Picture } from "./picture.ts";
import { useColouring } from "./use-colouring.ts";
import { type GraphModel, useGraph } from "./use-graph.ts";
import { checkedView, type GraphView, isFromTop } from "./view.ts";

/** Calling contexts as boxes: who called whom, and how much each of them has. */
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
      ...{ layout, boxes, colours, colour: colour.id },
      onChange: changeView,
    }),
    h(Notes, { weight, model }),
    h(Removed, {
      ...{ frames: removed, names: boxNames, amount: words(model.removed) },
      onChange: (frames) => changeView({ removed: frames }),
    }),
    layout !== "sandwich" &&
      h(Zoomed, {
        ...{ path: pathTo(main, zoomed), names: boxNames },
        rest: more && `${formatCount(more.count)} more`,
        onZoom: (path) => changeView({ ...WHOLE, zoom: path }),
      }),
    trees.map((_, index) => h(Half, { key: `${layout}${index}`, ...drawing, index })),
    colourings !== undefined && h(Legend, { colouring: colourings[0] }),
  );
}

/** The box from which on the children of the zoomed one are seen, if that is chosen. */
function restOf(tree: CallTree, zoomed: number, { rest }: GraphView): number | undefined {
  return rest === undefined ? undefined : childOf(tree, zoomed, rest);
}

interface HalfProps {
  props: GraphProps;
  view: GraphView;
  model: GraphModel;
  colourings: readonly Colouring[] | undefined;
  palette: Palette | undefined;
  /** Which tree of the model. */
  index: number;
}

/** One tree as a picture and a table: the only one, or half of a sandwich. */
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

  const pick = (box: number, isRest = false) => {
    const path = pathTo(tree, box);
    const frame = path.at(-1);
    if (frame === undefined) return onChange({ graph: { ...view, ...WHOLE } });
    // Nothing is selected then.
    if (isRest)
      return isHalf ? undefined : onChange({ graph: { ...view, zoom: path.slice(0, -1), rest: frame } });
    const graph = { ...view, centre: frame, ...(isHalf ? {} : { ...WHOLE, zoom: path }) };
    onChange({
      ...{ graph, finding: undefined },
      ...(isFromTop(layout)
        ? { site: model.contextOf(box), frame: undefined }
        : { site: undefined, frame, frameOf: view.boxes ?? "line" }),
    });
  };
  const described = { names: boxNames, weight, colour, isFolded: model.isFolded, hasOwn: !hasCallersBelow };
  const describe = (box: number, rest?: { count: number; value: number }) =>
    describeBox(measured, described, box, rest);
  const heading = !isHalf
    ? undefined
    : hasCallersBelow
      ? `Callers of ${boxNames.line(centre!)}`
      : `What ${boxNames.line(centre!)} called`;
  return h(
    "div",
    { class: "graph-half" },
    heading !== undefined && h("h3", null, heading),
    palette !== undefined &&
      colourings?.[index] !== undefined &&
      h(Picture, {
        ...{ tree, zoomed, from, palette, describe, names: boxNames, colouring: colourings[index] },
        amountOf: (box) => amountOf(measured, weight, state.side, box),
        top: isHalf ? 1 : 0,
        isUp: layout === "flame" || (isHalf && hasCallersBelow),
        label: `${heading ?? "Calling contexts"}, ${weight.label}: ${words(tree.total[0][0])}`,
        matched: measured.of("matched"),
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
      ...{ tree, zoomed, describe, format: words, onPick: pick, hasOwn: !hasCallersBelow },
      share: (value) => formatPercent(value, tree.total[0][0]),
    }),
  );
}
