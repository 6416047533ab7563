import { editDistance } from "../../explain/analyses/nearest-words.ts";
import { type GlossaryEntry, namesOf, plain } from "./glossary-entry.ts";
import { GLOSSARY } from "./glossary-words.ts";

/** Returns the entry of a word or synonym; case is ignored. */
export function glossaryEntry(text: string): GlossaryEntry | undefined {
  const wanted = plain(text);
  return GLOSSARY.find((entry) => namesOf(entry).some((name) => plain(name) === wanted));
}

/** Most letters by which a suggested word differs from a mistyped one. */
const MOST_EDITS = 2;

/** Returns the words most similar to a text, at most three. */
export function nearestWords(text: string): string[] {
  const wanted = plain(text);
  const near = GLOSSARY.flatMap((entry) =>
    namesOf(entry).map((name) => ({ word: entry.word, edits: editDistance(wanted, plain(name)) })),
  )
    // Half of a short word is no resemblance.
    .filter(({ edits }) => edits <= Math.min(MOST_EDITS, (wanted.length - 1) / 2))
    .sort((a, b) => a.edits - b.edits);
  return [...new Set(near.map(({ word }) => word))].slice(0, 3);
}
