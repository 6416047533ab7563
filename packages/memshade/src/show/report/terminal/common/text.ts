export { printable } from "../../../../profile/model/printable.ts";

/** Returns the terminal columns that a text takes. The text must not contain escape sequences. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character.codePointAt(0)!);
  return width;
}

export function padLeft(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

export function padRight(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Matches a mangled linker name of C++ (Itanium, Microsoft) or Rust, with its prefix. */
const MANGLED = /(?<![\w@?])(?:\w+\$)?(?:_{1,4}Z[\w$.]+|_{1,2}R[A-Z0-9][\w$.]*|\?[\w?@$]+@[\w?@$]*)/g;

/**
 * Cuts the middle out of a text that is too wide: `std::vec…::push_back`. If both ends belong to one mangled
 * name, its end is cut off, because two halves of a mangled name are useless.
 */
export function cutMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width <= 1) return "…".slice(0, Math.max(0, width));
  const tail = Math.floor((width - 1) / 2);
  const start = takeStart(text, width - 1 - tail);
  const end = takeEnd(text, tail);
  const endAt = text.length - end.length;
  for (const { 0: name, index } of text.matchAll(MANGLED)) {
    const after = index + name.length;
    const isSplit = index < start.length && start.length < after;
    if (isSplit || (index < endAt && endAt < after)) return `${takeStart(text, width - 1)}…`;
  }
  return `${start}…${end}`;
}

/** Cuts the start off a location that is too wide, so that its line stays: ` (…parse.c:88)`. An opening bracket stays too. */
export function cutStart(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const lead = /^ ?\(?/.exec(text)![0];
  return width <= lead.length ? "" : `${lead}…${takeEnd(text, width - lead.length - 1)}`;
}

/** Joins the first words that fit into `width` columns, followed by `rest` if words are left out; "" if none fits. */
export function firstWords(words: readonly string[], rest: string, width: number): string {
  const whole = words.join("");
  if (displayWidth(whole) <= width) return whole;
  for (let count = words.length - 1; count >= 0; count--) {
    const text = words.slice(0, count).join("") + rest;
    if (displayWidth(text) <= width) return text;
  }
  return "";
}

/** Cuts the end off a mangled name that is too wide. Other names are returned whole. */
export function cutMangled(name: string, width: number): string {
  return name.search(MANGLED) < 0 ? name : cutEnd(name, width);
}

export function cutEnd(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${takeStart(text, Math.max(width - 1, 0))}…`;
}

/**
 * Matches a break between words. A number stays with its per cent sign, and text quoted for the shell stays
 * in one piece.
 */
const PAUSE = /((?<=\s)'[^']*'\S*)|\s+(?!%(?:\W|$))/;
/** Matches text that the user types as printed: quoted for the shell, or an option's `name=value`. */
const TYPED = /^(?:'.|\w+=)/;

/**
 * Wraps words to lines of at most `width` columns. A wider word gets a line of its own and is cut, unless the
 * user has to type it.
 */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(PAUSE).filter((part) => part !== undefined && part !== "")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = TYPED.test(word) ? word : cutMiddle(word, width);
  }
  return line === "" ? lines : [...lines, line];
}

/** Draws a bar of at most `width` columns, in eighths of a column; never empty for a part above 0. */
export function bar(part: number, whole: number, width: number): string {
  if (part <= 0 || whole <= 0) return "";
  const eighths = Math.max(1, Math.round(Math.min(part / whole, 1) * width * 8));
  return "█".repeat(eighths >> 3) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths & 7]!;
}

function takeStart(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const character of text) {
    used += characterWidth(character.codePointAt(0)!);
    if (used > width) break;
    taken += character;
  }
  return taken;
}

export function takeEnd(text: string, width: number): string {
  return [...takeStart([...text].reverse().join(""), width)].reverse().join("");
}

function characterWidth(codePoint: number): number {
  if (codePoint < 0x300) return 1;
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(String.fromCodePoint(codePoint))) return 0;
  return isWide(codePoint) ? 2 : 1;
}

/** True for East Asian wide characters and pictographs. */
function isWide(codePoint: number): boolean {
  return (
    (codePoint >= 0x1100 && codePoint <= 0x115f) ||
    (codePoint >= 0x2e80 && codePoint <= 0xa4cf) ||
    (codePoint >= 0xac00 && codePoint <= 0xd7a3) ||
    (codePoint >= 0xf900 && codePoint <= 0xfaff) ||
    (codePoint >= 0xfe30 && codePoint <= 0xfe6f) ||
    (codePoint >= 0xff00 && codePoint <= 0xff60) ||
    (codePoint >= 0x1f300 && codePoint <= 0x1faff) ||
    (codePoint >= 0x20000 && codePoint <= 0x3fffd)
  );
}
