/** Longer names are cut, and their length told. */
const LONGEST = 4096;

// Control characters, marks that turn the direction of writing or take no room, halves of pairs, ends of lines.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A name of a program as a person may read it: what cannot be seen is written out, `‹U+202E›`. */
export function shown(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
  return cut.replaceAll(HIDDEN, writtenOut);
}

/** The same for a line of a source file, which may have tabs. */
export function shownLine(text: string): string {
  return shown(text.replaceAll("\t", "    "));
}

function writtenOut(character: string): string {
  return `‹U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}›`;
}
