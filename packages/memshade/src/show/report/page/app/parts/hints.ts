import { h } from "preact";
import { shown } from "./shown-text.ts";

/** What to do so that more is to be seen. */
export function Hints({ hints }: { hints: readonly string[] }) {
  return hints.map((hint) => h("p", { key: hint, class: "hint" }, shown(hint)));
}

/** What a run does not know. */
export function NotTracked({ sentences }: { sentences: readonly string[] }) {
  return h(
    "ul",
    { class: "not-tracked" },
    sentences.map((sentence) => h("li", { key: sentence }, shown(sentence))),
  );
}
