import { h } from "preact";
import { amountInWords, formatPercent } from "../app/parts/amounts.ts";
import type { GraphWeight } from "./graph-props.ts";
import type { GraphModel } from "./use-graph.ts";

/** What has to be known of the numbers, and what a search found. */
export function Notes({ weight, model }: { weight: GraphWeight; model: GraphModel }) {
  const words = (value: number) => amountInWords(value, weight.unit, weight.clock);
  const { shown, matched, negative } = model;
  const sentences = [
    weight.isWholeRun && "Of the whole run: it was not recorded when this happened.",
    weight.caution,
    shown === 0 && "Nothing of this was counted here.",
    negative < 0 && `${words(negative)} have no width: contexts that gave back more than they took.`,
  ].filter((sentence) => typeof sentence === "string");
  return h(
    "div",
    { class: "graph-notes" },
    matched !== undefined &&
      h(
        "p",
        { class: "graph-note", role: "status" },
        h("mark", null, `found ${words(matched)}`),
        ` of ${words(shown)}, ${formatPercent(matched, shown)}`,
      ),
    sentences.map((sentence) => h("p", { class: "graph-note", key: sentence }, sentence)),
  );
}
