import { nearest } from "../../explain/analyses/nearest-words.ts";
import { type GlossaryEntry, namesOf, plain } from "./glossary-entry.ts";
import { GLOSSARY } from "./glossary-words.ts";

/** Returns the entry of a word or synonym; case is ignored. */
export function glossaryEntry(text: string): GlossaryEntry | undefined {
  const wanted = plain(text);
  return GLOSSARY.find((entry) => namesOf(entry).some((name) => plain(name) === wanted));
}

/** Returns the words most similar to a text, at most three. */
export function nearestWords(text: string): string[] {
  const names = GLOSSARY.flatMap((entry) =>
    namesOf(entry).map((name) => ({ word: entry.word, name: plain(name) })),
  );
  return nearest(plain(text), names).slice(0, 3);
}
