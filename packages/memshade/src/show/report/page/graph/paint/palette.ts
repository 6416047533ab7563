/** Red, green and blue, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

const BLACK: Colour = [0, 0, 0];
const WHITE: Colour = [255, 255, 255];

/** Mixes two colours; `share` (0 to 1) is the part of the second. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  return [0, 1, 2].map((channel) =>
    Math.round(from[channel] + (to[channel] - from[channel]) * share),
  ) as unknown as Colour;
}

export function toText([red, green, blue]: Colour): string {
  return `rgb(${red},${green},${blue})`;
}

/** Relative luminance as WCAG 2 defines it, 0 to 1. */
function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast of two colours as WCAG 2 defines it, 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Returns black or white, the more readable on a colour: the contrast is always at least 4.5 : 1. */
export function inkOn(colour: Colour): Colour {
  return contrast(colour, BLACK) >= contrast(colour, WHITE) ? BLACK : WHITE;
}

/** Colours of the page that canvases use, by purpose. */
export interface Palette {
  background: Colour;
  panel: Colour;
  line: Colour;
  text: Colour;
  dim: Colour;
  accent: Colour;
  mark: Colour;
  /** Distinguishable by lightness and hue. */
  series: readonly Colour[];
}

const SERIES = 8;

/** Reads the colours from the custom properties of an element. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  // A painted pixel has red, green and blue in whatever notation a style sheet has the colour.
  const read = (name: string, otherwise: string): Colour => {
    context.fillStyle = otherwise;
    context.fillStyle = style.getPropertyValue(name).trim() || otherwise;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue];
  };
  return {
    background: read("--bg", "#fff"),
    panel: read("--panel", "#f6f6f6"),
    line: read("--line", "#ccc"),
    text: read("--text", "#000"),
    dim: read("--dim", "#555"),
    accent: read("--accent", "#0550ae"),
    mark: read("--graph-mark", "#ffc61a"),
    series: Array.from({ length: SERIES }, (_, index) => read(`--c${index}`, "#888")),
  };
}

/**
 * Calls back whenever the page's colours change.
 * @returns a function that removes the listeners
 */
export function onSchemeChange(changed: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", changed);
  document.documentElement.addEventListener("memshade-scheme", changed);
  return () => {
    system.removeEventListener("change", changed);
    document.documentElement.removeEventListener("memshade-scheme", changed);
  };
}
