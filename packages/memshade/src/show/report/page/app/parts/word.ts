import { h } from "preact";
import { glossaryEntry } from "../../../glossary.ts";

/** A label whose tooltip explains a glossary word. */
export function Word({ word, children }: { word: string; children: string }) {
  const text = glossaryEntry(word)?.text;
  return text === undefined ? h("span", null, children) : h("abbr", { title: text }, children);
}
