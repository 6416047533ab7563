/** Characters that end a line, move the cursor or turn the direction of writing. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
const NAMED = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\\", "\\\\"],
  ["'", "\\'"],
]);

/** A word as a shell takes it for itself, in one line. */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!CONTROL.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  // Shells of today know this one, which has names for all characters.
  return `$'${[...word].map(escaped).join("")}'`;
}

function escaped(character: string): string {
  const named = NAMED.get(character);
  if (named !== undefined) return named;
  if (!CONTROL.test(character)) return character;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A command as it can be typed again: empty words, and those with spaces, are quoted. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoteForShell).join(" ");
}
