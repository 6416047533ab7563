import { h } from "preact";
import { Graph } from "../../graph/graph.ts";
import type { ViewProps } from "./view.ts";

/** Who called whom, and how much each has of the chosen weight. */
export function GraphView({ model, state, change }: ViewProps) {
  const weight = model.weight(state);
  if (weight === undefined) return null;
  return h(Graph, {
    ...{ data: model.data, names: model.names, state, weight },
    ...{ weights: model.figures(state), matches: model.matches(state), selected: model.selected(state) },
    onChange: change,
  });
}
