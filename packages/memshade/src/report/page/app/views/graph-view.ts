import { h } from "preact";
import { Graph } from "../../graph/graph.ts";
import { Hints } from "../parts/hints.ts";
import type { ViewProps } from "./view.ts";

/** Who called whom, and how much each has of the chosen weight. */
export function GraphView({ model, state, change }: ViewProps) {
  const weight = model.weight(state);
  if (weight === undefined) return null;
  return [
    // Where there are no findings, this is the first view.
    model.data.kind === "samples" ? h(Hints, { hints: model.data.head.hints }) : null,
    h(Graph, {
      key: "graph",
      ...{ data: model.data, names: model.names, state, weight },
      ...{ weights: model.figures(state), matches: model.matches(state), selected: model.selected(state) },
      onChange: change,
    }),
  ];
}
