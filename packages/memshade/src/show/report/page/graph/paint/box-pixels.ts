import type { Colour } from "./colours.ts";

/** A colour as a pixel of an image's 32 bits, red first in memory. */
export function toPixel([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * Rows of boxes as pixels. All lines of a row are alike: one is filled box by box and copied, which is many times faster
 * than a rectangle for each of tens of thousands of boxes. Lengths are pixels of the device.
 */
export class BoxPixels {
  readonly image: ImageData;
  readonly #pixels: Uint32Array;
  readonly #line: Uint32Array;

  constructor(width: number, height: number) {
    this.image = new ImageData(width, height);
    this.#pixels = new Uint32Array(this.image.data.buffer);
    this.#line = new Uint32Array(width);
  }

  /** Those of a canvas, which are made anew when its size changes: they are large. */
  static of(canvas: HTMLCanvasElement): BoxPixels {
    const known = kept.get(canvas);
    if (known?.image.width === canvas.width && known.image.height === canvas.height) return known;
    const pixels = new BoxPixels(canvas.width, canvas.height);
    kept.set(canvas, pixels);
    return pixels;
  }

  /** Begins a picture. */
  erase(pixel: number): void {
    this.#pixels.fill(pixel);
  }

  /** Begins a line. */
  clear(pixel: number): void {
    this.#line.fill(pixel);
  }

  /** A box on the line; it has at least one pixel. */
  fill(from: number, to: number, pixel: number): void {
    const begin = Math.round(from);
    const end = Math.max(begin + 1, Math.round(to));
    // Most boxes have so few pixels that a call of `fill` would take longer.
    if (end - begin < FEW)
      for (let at = begin; at < end && at < this.#line.length; at++) this.#line[at] = pixel;
    else this.#line.fill(pixel, begin, end);
  }

  /** The line as all lines from one to before another one, as far as they are in the picture. */
  copy(from: number, to: number): void {
    const { width, height } = this.image;
    for (let y = Math.max(0, from); y < Math.min(height, to); y++) this.#pixels.set(this.#line, y * width);
  }
}

const FEW = 16;

const kept = new WeakMap<HTMLCanvasElement, BoxPixels>();
