/** Longer names are cut, and their length is added. */
const LONGEST = 4096;

// Control characters, marks of writing direction or without width, unpaired surrogates, line ends.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Makes a name of the program readable: invisible characters are escaped as `‹U+202E›`. */
export function shown(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
  return cut.replaceAll(HIDDEN, writtenOut);
}

/** Escapes a source line, which may contain tabs. */
export function shownLine(text: string): string {
  return shown(text.replaceAll("\t", "    "));
}

function writtenOut(character: string): string {
  return `‹U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}›`;
}
