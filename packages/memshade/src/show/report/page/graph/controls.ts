import { h, type TargetedEvent } from "preact";
import type { BoxNames } from "./paint/box-names.ts";
import type { Colouring } from "./paint/colouring.ts";
import { toText } from "./paint/colours.ts";
import { BOX_GROUPS, type BoxGroup, type Choice, type GraphView, isFromTop, type Layout } from "./view.ts";

const LAYOUT_WORDS: readonly (readonly [Layout, label: string, title: string])[] = [
  ["icicle", "Icicle", "Callers on top, what they called below them"],
  ["flame", "Flame", "Callers at the bottom, what they called above them"],
  ["callers", "Bottom-up", "Where it was counted on top, who called it below"],
  ["sandwich", "Sandwich", "One function in the middle: who called it, and what it called"],
];

const GROUP_WORDS: Readonly<Record<BoxGroup, string>> = {
  line: "lines",
  function: "functions",
  file: "files",
  package: "packages",
};

/** Zoomed to nothing. */
export const WHOLE = { zoom: [], rest: undefined };

export interface GraphBarProps {
  layout: Layout;
  boxes: BoxGroup;
  colour: string;
  colours: readonly Choice[];
  onChange(part: Partial<GraphView>): void;
}

/** How the graph is drawn. */
export function GraphBar({ layout, boxes, colour, colours, onChange }: GraphBarProps) {
  return h(
    "div",
    { class: "graph-bar" },
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
            // A path from the other end leads nowhere.
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
  return h(
    "label",
    null,
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

/** The way from the whole to the zoomed box; each step leads back. It is always there: what is below it stays where it is. */
export function Zoomed(props: {
  path: readonly number[];
  /** What several boxes below the path are called that are zoomed to together. */
  rest: string | undefined;
  names: BoxNames;
  /** How many merged call paths each box on the way has, the root first; absent: nobody knows. */
  merged?: readonly number[] | undefined;
  onZoom(path: readonly number[]): void;
}) {
  const { path, rest, names, merged, onZoom } = props;
  const here = (label: string) => h("strong", { "aria-current": "location" }, label);
  return h(
    "nav",
    { "aria-label": "Zoomed to" },
    h(
      "ol",
      { class: "graph-crumbs" },
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

/** What was taken out of the graph, and how to take it back. */
export function Removed(props: {
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
    h("span", null, `Removed, ${amount} in all:`),
    frames.map((frame) =>
      h(
        "button",
        {
          key: frame,
          type: "button",
          title: "Put it back",
          onClick: () => onChange(frames.filter((other) => other !== frame)),
        },
        `${names.line(frame)} ✕`,
      ),
    ),
    frames.length > 1 && h("button", { type: "button", onClick: () => onChange([]) }, "Put all back"),
  );
}

/** What the colours of all pictures say, each once. */
export function Legend({ colourings }: { colourings: readonly Colouring[] }) {
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
