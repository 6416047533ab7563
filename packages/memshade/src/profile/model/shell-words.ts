/** Characters that end a line, move the cursor or change the direction of writing. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
const NAMED = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\\", "\\\\"],
  ["'", "\\'"],
]);

/** Quotes a word for a shell, in one line. */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!CONTROL.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  // Current shells support this form, which can name all characters.
  return `$'${[...word].map(escaped).join("")}'`;
}

function escaped(character: string): string {
  const named = NAMED.get(character);
  if (named !== undefined) return named;
  if (!CONTROL.test(character)) return character;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Formats a command so that it can be typed again: empty words, and those with spaces, are quoted. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoteForShell).join(" ");
}
