import { h } from "preact";
import { glossaryEntry } from "../../../glossary.ts";
import { el } from "./element.ts";

/** A label whose tooltip explains a glossary word. */
export function Word({ word, children }: { word: string; children: string }) {
  const text = glossaryEntry(word)?.text;
  return text === undefined ? el("span", children) : h("abbr", { title: text }, children);
}
