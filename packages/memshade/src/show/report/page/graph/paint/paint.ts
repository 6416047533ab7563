import { entryOf } from "../../../../../ground/bytes/entries.ts";
import type { DrawnBoxes } from "../layout/drawn-boxes.ts";
import type { CallTree } from "../layout/tree.ts";
import type { BoxNames } from "./box-names.ts";
import type { Colouring } from "./colouring.ts";
import { type Colour, inkOn, mix, type Palette, toText } from "./palette.ts";

/** Height of a row, and size of its text. CSS pixels. */
export const ROW = 20;
const FONT_SIZE = 12;
/** Padding between a box's edge and its text. */
const PADDING = 4;
/** Narrower boxes have no text. */
const LEAST_LABELLED = 24;
/** Wider boxes leave a gap before the next one. */
const LEAST_SPACED = 3;

export function fontOf(element: Element): string {
  return `${FONT_SIZE}px ${getComputedStyle(element).fontFamily}`;
}

/** Inputs of a painted picture of boxes. */
export interface Painting {
  tree: CallTree;
  drawn: DrawnBoxes;
  names: BoxNames;
  widths: TextWidths;
  colouring: Colouring;
  palette: Palette;
  /** Formats the amount of a box of the tree. */
  amountOf(box: number): string;
  /** Number of merged call paths of each box of the tree; absent if there are none or if unknown. */
  merged?: Float64Array | undefined;
  /** True if rows grow upwards from the last line, not downwards from the first. */
  isUp: boolean;
  /**
   * Amounts per box of the tree, in the unit of the widths: matches of a search, selection, and one side of a
   * comparison.
   */
  matched?: Float64Array | undefined;
  selected?: Float64Array | undefined;
  side?: Float64Array | undefined;
}

/** The visible part of the picture, CSS pixels. */
export interface Window {
  top: number;
  height: number;
}

/** Returns the upper edge of a row in the whole picture, CSS pixels. */
export function rowTop({ drawn, isUp }: Pick<Painting, "drawn" | "isUp">, row: number): number {
  return (isUp ? drawn.rows - 1 - row : row) * ROW;
}

/** Returns the row at a height of the whole picture. */
export function rowAt({ drawn, isUp }: Pick<Painting, "drawn" | "isUp">, y: number): number {
  const line = Math.floor(y / ROW);
  return isUp ? drawn.rows - 1 - line : line;
}

/**
 * Paints the visible rows.
 *
 * @param context scaled by `ratio` device pixels per CSS pixel
 */
export function paint(
  context: CanvasRenderingContext2D,
  painting: Painting,
  { top, height }: Window,
  ratio: number,
): void {
  const { drawn, palette } = painting;
  const styles = new Styles(painting);
  const [oneEnd, otherEnd] = [rowAt(painting, top), rowAt(painting, top + height - 1)];
  const first = Math.max(0, Math.min(oneEnd, otherEnd));
  const last = Math.min(drawn.rows - 1, Math.max(oneEnd, otherEnd));
  const topOf = (row: number) => rowTop(painting, row) - top;
  const pixels = BoxPixels.of(context.canvas);
  pixels.erase(toPixel(palette.background));
  for (let row = first; row <= last; row++) paintBoxes(pixels, painting, styles, row, topOf(row), ratio);
  context.putImageData(pixels.image, 0, 0);
  context.textBaseline = "middle";
  for (let row = first; row <= last; row++) paintLabels(context, painting, styles, row, topOf(row));
  if (painting.selected !== undefined)
    for (let row = first; row <= last; row++) paintSelected(context, painting, row, topOf(row));
}

/**
 * Colours of boxes and of their text. Boxes that do not match a search are pale, those that match are marked.
 */
class Styles {
  readonly #painting: Painting;
  readonly #count: number;
  readonly pixels: Uint32Array;
  readonly inks: string[];

  constructor(painting: Painting) {
    const { colouring, palette } = painting;
    this.#painting = painting;
    this.#count = colouring.fills.length;
    const colours: Colour[] = [
      ...colouring.fills,
      ...colouring.fills.map((colour) => mix(colour, palette.background, PALE)),
      palette.mark,
      mix(palette.panel, palette.line, 0.5),
    ];
    this.pixels = Uint32Array.from(colours, toPixel);
    this.inks = colours.map((colour) => toText(inkOn(colour)));
  }

  /** Returns the index into `pixels` and `inks`. */
  of(index: number): number {
    const { drawn, colouring, matched, tree } = this.#painting;
    if (drawn.rest[index] > 0) return 2 * this.#count + 1;
    const box = drawn.box[index];
    if (matched === undefined) return colouring.fillOf(box);
    if (matched[box] <= 0) return this.#count + colouring.fillOf(box);
    return isWhole(matched[box], tree.total[0][box]) ? 2 * this.#count : colouring.fillOf(box);
  }

  /** Returns the pale variant of a style. */
  pale(style: number): number {
    return style < this.#count ? style + this.#count : style;
  }
}

const PALE = 0.75;
/** Height of the bar for one side of a comparison; the text above it stays readable. */
const SIDE_BAR = 4;

/** True if a part is the whole; sums of fractions differ by the order of addition. */
function isWhole(part: number, whole: number): boolean {
  return part > 0 && part >= whole * (1 - 1e-9);
}

function paintBoxes(
  pixels: BoxPixels,
  { drawn, side, palette }: Painting,
  styles: Styles,
  row: number,
  y: number,
  ratio: number,
): void {
  const { x, width, rowStart, rest, box, value } = drawn;
  const [top, bottom] = [Math.round(y * ratio), Math.round((y + ROW - 1) * ratio)];
  const line = (pixelOf: (style: number) => number, partOf: (index: number) => number) => {
    for (let index = rowStart[row]; index < rowStart[row + 1]; index++) {
      const begin = x[index] * ratio;
      const shown = width[index] > LEAST_SPACED ? width[index] * ratio - 1 : width[index] * ratio;
      pixels.fill(begin, begin + shown * partOf(index), pixelOf(styles.of(index)));
    }
  };
  pixels.clear(toPixel(palette.background));
  const all = () => 1;
  if (side === undefined) line((style) => styles.pixels[style], all);
  else line((style) => styles.pixels[styles.pale(style)], all);
  pixels.copy(top, bottom);
  if (side === undefined) return;
  // The amount of one side of a comparison is drawn as a bar at the bottom of the row.
  line(
    (style) => styles.pixels[style],
    (index) => (rest[index] > 0 ? 1 : side[box[index]] / value[index]),
  );
  pixels.copy(Math.round((y + ROW - 1 - SIDE_BAR) * ratio), bottom);
}

function paintLabels(
  context: CanvasRenderingContext2D,
  painting: Painting,
  styles: Styles,
  row: number,
  y: number,
): void {
  const { drawn, tree, names, widths, side } = painting;
  for (let index = drawn.rowStart[row]; index < drawn.rowStart[row + 1]; index++) {
    if (drawn.width[index] < LEAST_LABELLED) continue;
    const room = drawn.width[index] - 2 * PADDING - 1;
    const frame = tree.frame[drawn.box[index]];
    const { name, place } =
      drawn.rest[index] > 0
        ? fitLabel(widths, `${drawn.rest[index]} more`, "", room)
        : fitLabel(
            widths,
            names.label(frame, painting.merged?.[drawn.box[index]]),
            names.place(frame),
            room,
            painting.amountOf(drawn.box[index]),
          );
    const style = styles.of(index);
    context.fillStyle = styles.inks[side === undefined ? style : styles.pale(style)];
    const middle = y + ROW / 2;
    if (name !== "") context.fillText(name, drawn.x[index] + PADDING, middle);
    if (place !== "") context.fillText(place, drawn.x[index] + PADDING + room - widths.of(place), middle);
  }
}

/** Outlines each fully selected box whose parent is not fully selected. */
function paintSelected(
  context: CanvasRenderingContext2D,
  { drawn, tree, selected, palette }: Painting,
  row: number,
  y: number,
): void {
  const isSelected = (box: number) => box > 0 && isWhole(selected![box], tree.total[0][box]);
  context.lineWidth = 2;
  context.strokeStyle = toText(palette.text);
  for (let index = drawn.rowStart[row]; index < drawn.rowStart[row + 1]; index++) {
    const box = drawn.box[index];
    if (drawn.rest[index] > 0 || !isSelected(box) || isSelected(tree.parent[box])) continue;
    const width = Math.max(2, drawn.width[index] - 1);
    context.strokeRect(drawn.x[index] + 1, y + 1, Math.max(1, width - 2), ROW - 3);
  }
}

/** Widths of texts in one font, CSS pixels. Each character and each text is measured once. */
export class TextWidths {
  readonly #measure: (text: string) => number;
  readonly #characters = new Map<string, number>();
  readonly #texts = new Map<string, number>();

  /**
   * @param measure returns the width of one character; the width of a text is the sum of its characters,
   * without kerning
   */
  constructor(measure: (character: string) => number) {
    this.#measure = measure;
  }

  of(text: string): number {
    const cached = this.#texts.get(text);
    if (cached !== undefined) return cached;
    let width = 0;
    for (const character of text) width += this.#ofCharacter(character);
    this.#texts.set(text, width);
    return width;
  }

  /** Returns the text, or as much of its end as fits after a `…`. Empty if too few characters fit. */
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
    return entryOf(this.#characters, character, () => this.#measure(character));
  }
}

/** Fewer characters of a name are unreadable. */
const LEAST_CHARACTERS = 4;
/** Gap between a name and its location, CSS pixels. */
const GAP = 8;

interface Label {
  /** Drawn from the left edge. */
  name: string;
  /** Drawn up to the right edge. */
  place: string;
}

/**
 * Fits name and location into a box. The amount is dropped first, then the file, then the start of the name,
 * because the ends identify both best. The location is dropped last.
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
  // A location without a line (file or module only) cannot be shortened to a line.
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

/** Converts a colour to a 32-bit pixel of an image, red first in memory. */
function toPixel([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * Rows of boxes as pixels. All lines of a row are equal: one line is filled box by box and copied. For tens
 * of thousands of boxes this is many times faster than a rectangle per box. Lengths are device pixels.
 */
class BoxPixels {
  readonly image: ImageData;
  readonly #pixels: Uint32Array;
  readonly #line: Uint32Array;

  constructor(width: number, height: number) {
    this.image = new ImageData(width, height);
    this.#pixels = new Uint32Array(this.image.data.buffer);
    this.#line = new Uint32Array(width);
  }

  /** Returns the pixels of a canvas. They are reused until its size changes, because they are large. */
  static of(canvas: HTMLCanvasElement): BoxPixels {
    const cached = pixelsByCanvas.get(canvas);
    if (cached?.image.width === canvas.width && cached.image.height === canvas.height) return cached;
    const pixels = new BoxPixels(canvas.width, canvas.height);
    pixelsByCanvas.set(canvas, pixels);
    return pixels;
  }

  /** Starts a picture. */
  erase(pixel: number): void {
    this.#pixels.fill(pixel);
  }

  /** Starts a line. */
  clear(pixel: number): void {
    this.#line.fill(pixel);
  }

  /** Draws a box on the line, at least one pixel wide. */
  fill(from: number, to: number, pixel: number): void {
    const begin = Math.round(from);
    const end = Math.max(begin + 1, Math.round(to));
    // Most boxes have so few pixels that a call of `fill` would take longer.
    if (end - begin < FEW)
      for (let at = begin; at < end && at < this.#line.length; at++) this.#line[at] = pixel;
    else this.#line.fill(pixel, begin, end);
  }

  /** Copies the line to the lines `[from, to)` of the picture. */
  copy(from: number, to: number): void {
    const { width, height } = this.image;
    for (let y = Math.max(0, from); y < Math.min(height, to); y++) this.#pixels.set(this.#line, y * width);
  }
}

const FEW = 16;

const pixelsByCanvas = new WeakMap<HTMLCanvasElement, BoxPixels>();
