// What the numbers leave out, what the words mean, and how the page is used.
import { h } from "preact";
import { counted, groupDigits } from "../../../../../profile/model/counted.ts";
import { GLOSSARY } from "../../../glossary-words.ts";
import { NotTracked } from "../parts/hints.ts";
import { shown } from "../parts/shown-text.ts";
import type { ViewProps } from "./view.ts";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["/", "search and filter"],
  ["j k", "next and previous finding, or row"],
  ["Enter", "open a finding, select a row"],
  ["1 … 8", "the views, in the order of their tabs"],
  ["arrows", "in the graph from box to box; over the time from interval to interval, with Shift a range"],
  ["Escape", "select nothing, then the whole run"],
  ["?", "this page"],
];

const FILTERS: readonly (readonly [example: string, what: string])[] = [
  ["shop", "call paths on which a function or file has “shop” in its name"],
  ["-printf", "those on which none has"],
  ["bytes>1MiB left>0", "rows of Sites with such sums; units are B, KiB, MiB, GiB, k, M, G"],
  ["peak>5%", "of the whole"],
  ["fn:~^take_", "sites in functions that a regular expression matches"],
  ["file:shop.c pkg:sqlite", "sites in such files, in such packages"],
];

export function Help({ model }: ViewProps) {
  const { head, weights } = model.data;
  const cautions = weights.filter(({ caution }) => caution !== undefined);
  return h(
    "div",
    { class: "help" },
    h(
      "section",
      { "aria-labelledby": "not-tracked" },
      h("h2", { id: "not-tracked" }, "What was not tracked"),
      head.notTracked.length === 0 && cautions.length === 0
        ? h("p", null, "Everything that the tools of this run can know is in this page.")
        : h(NotTracked, {
            sentences: [...head.notTracked, ...cautions.map(({ label, caution }) => `${label}: ${caution}`)],
          }),
      head.merged
        ? h(
            "p",
            null,
            `${counted(head.merged.contexts, "call path")} with the least are merged by site and innermost function, with exact sums: a page ` +
              `keeps ${groupDigits(head.merged.bound)}. What called these is one “others, merged” below each kept caller: the graph and ` +
              "searches for callers do not tell it apart; lines in Source have their sums with calls.",
          )
        : null,
      head.hints.map((hint) => h("p", { class: "hint" }, shown(hint))),
    ),
    h(
      "section",
      { "aria-labelledby": "this-run" },
      h("h2", { id: "this-run" }, "This run"),
      h(
        "dl",
        { class: "facts" },
        head.command ? [h("dt", null, "Command"), h("dd", null, h("code", null, shown(head.command)))] : null,
        head.ended ? [h("dt", null, "Ended"), h("dd", null, shown(head.ended))] : null,
        head.facts.map(({ label, value }) => [h("dt", null, shown(label)), h("dd", null, shown(value))]),
        h("dt", null, "Page"),
        h("dd", null, `written by memshade ${shown(head.writtenBy)}`),
      ),
    ),
    h(
      "section",
      { "aria-labelledby": "keys" },
      h("h2", { id: "keys" }, "Keys"),
      h(
        "dl",
        { class: "facts" },
        KEYS.map(([keys, what]) => [h("dt", null, h("kbd", null, keys)), h("dd", null, what)]),
      ),
    ),
    h(
      "section",
      { "aria-labelledby": "filters" },
      h("h2", { id: "filters" }, "Filters"),
      h(
        "dl",
        { class: "facts" },
        FILTERS.map(([example, what]) => [h("dt", null, h("code", null, example)), h("dd", null, what)]),
      ),
      h("p", { class: "dim" }, `Figures: ${weights.map(({ id }) => id).join(", ")}.`),
    ),
    h(
      "section",
      { "aria-labelledby": "words" },
      h("h2", { id: "words" }, "Words"),
      h(
        "dl",
        { class: "words" },
        GLOSSARY.map(({ word, text, advice }) => [
          h("dt", null, word),
          h("dd", null, text, advice ? h("span", { class: "advice" }, ` ${advice}`) : null),
        ]),
      ),
    ),
  );
}
