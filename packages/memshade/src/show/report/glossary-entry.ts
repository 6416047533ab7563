/** A glossary entry. docs/glossary.md is generated from these. */
export interface GlossaryEntry {
  readonly word: string;
  /** Synonyms. */
  readonly also?: readonly string[] | undefined;
  /** Explanation in full sentences. */
  readonly text: string;
  /** Advice, for kinds of findings. */
  readonly advice?: string | undefined;
  /** Page below docs/ with more, and its heading. */
  readonly more?: string | undefined;
}

/** Returns the word and its synonyms. */
export function namesOf({ word, also = [] }: GlossaryEntry): string[] {
  return [word, ...also];
}

/** Normalizes a word for comparison. */
export function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[-_\s]+/g, " ")
    .trim();
}
