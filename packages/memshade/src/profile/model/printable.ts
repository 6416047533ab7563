const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
/**
 * Memshade's own styles (report/terminal/common/paint.ts), and all characters that must not reach a terminal except
 * line ends and tabs.
 */
const OF_OUTPUT = /(?![\n\t])(?:\p{Cc}\[(?:[127]|2[27]|3[2369])m|[\p{Cc}\p{Bidi_Control}\u2028\u2029])/gu;
const ESCAPE = "\u001b";

/**
 * Makes a foreign text safe to print within a line. Control characters, which terminals obey, marks of writing
 * direction and line ends are replaced.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/**
 * Makes a whole output safe to print, but keeps memshade's own styles and lines. Other control characters and direction
 * marks are written as `\u009b`, which JSON reads as the same text.
 */
export function printableOutput(text: string): string {
  return text.replace(OF_OUTPUT, (found) =>
    found.length > 1 && found.startsWith(ESCAPE)
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}${found.slice(1)}`,
  );
}

/** Escapes the line ends of a name for a line-based format. `printableOutput` escapes the other control characters. */
export function inLine(name: string): string {
  return name.includes("\n") ? name.replaceAll("\n", "\\n") : name;
}

/** Escapes a foreign text for elements and attributes of HTML, with its lines kept. */
export function printableHtml(text: string): string {
  return text
    .replace(UNPRINTABLE, (found) => (/[\t\n\r]/.test(found) ? found : "\ufffd"))
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Formats a cell of a CSV table, in one line. */
export function csvCell(text: string): string {
  const clean = printable(text);
  // Spreadsheets would evaluate a cell that begins like a formula.
  const safe = /^[=+\-@]/.test(clean) ? `'${clean}` : clean;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
