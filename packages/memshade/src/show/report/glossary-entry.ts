/** A word of the reports that needs explaining. docs/glossary.md is made of these. */
export interface GlossaryEntry {
  readonly word: string;
  /** Other words for it. */
  readonly also?: readonly string[] | undefined;
  /** Sentences. */
  readonly text: string;
  /** Of a finding: what to try. */
  readonly advice?: string | undefined;
  /** Page below docs/ with more, and its heading. */
  readonly more?: string | undefined;
}

/** Its word, and the other words for it. */
export function namesOf({ word, also = [] }: GlossaryEntry): string[] {
  return [word, ...also];
}

/** A word in the form in which words are compared. */
export function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[-_\s]+/g, " ")
    .trim();
}
