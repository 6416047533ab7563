import { h } from "preact";
import { el } from "./element.ts";
import { shown } from "./shown-text.ts";

/** Advice for getting more data onto the page. */
export function Hints({ hints }: { hints: readonly string[] }) {
  return hints.map((hint) => h("p", { key: hint, class: "hint" }, shown(hint)));
}

/** Sentences about data that was not tracked. */
export function NotTracked({ sentences }: { sentences: readonly string[] }) {
  return el(
    "ul.not-tracked",
    sentences.map((sentence) => h("li", { key: sentence }, shown(sentence))),
  );
}
