import { h } from "preact";
import { glossaryEntry } from "../../../glossary.ts";

/** A label whose title explains a word of the glossary. */
export function Word({ word, children }: { word: string; children: string }) {
  const text = glossaryEntry(word)?.text;
  return text === undefined ? h("span", null, children) : h("abbr", { title: text }, children);
}
