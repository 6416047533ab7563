/** Widths of texts in one font, CSS pixels. Each character is measured once, and so is each text. */
export class TextWidths {
  readonly #measure: (text: string) => number;
  readonly #characters = new Map<string, number>();
  readonly #texts = new Map<string, number>();

  /** @param measure the width of one character; texts are as wide as their characters: no kerning */
  constructor(measure: (character: string) => number) {
    this.#measure = measure;
  }

  of(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    let width = 0;
    for (const character of text) width += this.#ofCharacter(character);
    this.#texts.set(text, width);
    return width;
  }

  /** The text, or as much of its end as there is room for behind a `…`; nothing where that is too little to say anything. */
  end(text: string, room: number): string {
    if (this.of(text) <= room) return text;
    const characters = [...text];
    let width = this.#ofCharacter("…");
    let from = characters.length;
    for (; from > 0; from--) {
      const wider = width + this.#ofCharacter(characters[from - 1]);
      if (wider > room) break;
      width = wider;
    }
    return characters.length - from < LEAST_CHARACTERS ? "" : `…${characters.slice(from).join("")}`;
  }

  #ofCharacter(character: string): number {
    const known = this.#characters.get(character);
    if (known !== undefined) return known;
    const width = this.#measure(character);
    this.#characters.set(character, width);
    return width;
  }
}

/** Fewer characters of a name say nothing. */
const LEAST_CHARACTERS = 4;
/** Between a name and its place, CSS pixels. */
const GAP = 8;

export interface Label {
  /** From the left edge. */
  name: string;
  /** Up to the right edge. */
  place: string;
}

/**
 * What of a name and its place is written into a box. Its amount goes first, then the file, then the name's begin: the ends
 * of both tell most. The place goes last.
 */
export function fitLabel(
  widths: TextWidths,
  name: string,
  place: string,
  room: number,
  amount?: string,
): Label {
  if (amount !== undefined) {
    const whole = `${name}  ${amount}`;
    if (widths.of(whole) + GAP + widths.of(place) <= room) return { name: whole, place };
  }
  // Where a place is a file or a module alone, it has no line that could stand for it.
  const line = /.(:\d+)$/.exec(place)?.[1];
  const places = place === "" ? [] : line === undefined ? [place] : [place, line];
  for (const fitting of places)
    if (widths.of(name) + GAP + widths.of(fitting) <= room) return { name, place: fitting };
  if (widths.of(name) <= room && places.length === 0) return { name, place: "" };
  const last = places.at(-1);
  if (last?.startsWith(":")) {
    const end = widths.end(name, room - GAP - widths.of(last));
    if (end !== "") return { name: end, place: last };
  }
  return { name: widths.end(name, room), place: "" };
}
