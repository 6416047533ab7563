const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
/** Our own styles (report/terminal/common/paint.ts), and what is not to reach a terminal: all but ends of lines and tabs. */
const OF_OUTPUT = /(?![\n\t])(?:\p{Cc}\[(?:[127]|2[27]|3[2369])m|[\p{Cc}\p{Bidi_Control}\u2028\u2029])/gu;
const ESCAPE = "\u001b";

/**
 * Makes a name, a path or another text of others safe to print within a line: no control characters, which terminals obey, nothing that
 * turns the direction of writing, and no ends of lines.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/**
 * Makes a whole output safe to print, our own styles and lines kept: what is left of control characters and marks of direction is written out,
 * `\u009b`, as JSON has it too, whose texts stay the same by it.
 */
export function printableOutput(text: string): string {
  return text.replace(OF_OUTPUT, (found) =>
    found.length > 1 && found.startsWith(ESCAPE)
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}${found.slice(1)}`,
  );
}

/** A name in a line that programs read: its ends of lines are written out, as `printableOutput` writes out what terminals obey. */
export function inLine(name: string): string {
  return name.includes("\n") ? name.replaceAll("\n", "\\n") : name;
}

/** A text of others as it may stand in the elements and attributes of HTML, its lines kept. */
export function printableHtml(text: string): string {
  return text
    .replace(UNPRINTABLE, (found) => (/[\t\n\r]/.test(found) ? found : "\ufffd"))
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
