const NUMBER =
  /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+|0o[0-7]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const WORDS = new Set(["null", "Null", "NULL", "~", "true", "True", "TRUE", "false", "False", "FALSE"]);
const PLAIN_START = /^[^-?:\\,[\]{}#&*!|>'"%@`]/;
const PLAIN = /^[A-Za-z0-9_\-^., \t]*$/;

/** A string as LLVM writes it in YAML: plain where it can be, else in single or double quotes. */
export function quoteScalar(text: string): string {
  if (needsDoubleQuotes(text)) return `"${escapeText(text)}"`;
  const isPlain =
    text !== "" &&
    text === text.trim() &&
    !WORDS.has(text) &&
    !NUMBER.test(text) &&
    PLAIN_START.test(text) &&
    PLAIN.test(text);
  return isPlain ? text : `'${text.replaceAll("'", "''")}'`;
}

function needsDoubleQuotes(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if ((code < 0x20 && code !== 9) || code >= 0x7f) return true;
  }
  return false;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  "\x85": "\\N",
  "\xa0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escapeText(text: string): string {
  return Array.from(text, (character) => {
    const known = ESCAPES[character];
    if (known !== undefined) return known;
    const code = character.codePointAt(0)!;
    const digits = code.toString(16).toUpperCase();
    if (code < 0x20) return `\\x${digits.padStart(2, "0")}`;
    return character;
  }).join("");
}
