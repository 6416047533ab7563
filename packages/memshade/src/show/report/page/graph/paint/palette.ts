import type { Colour } from "./colours.ts";

/** The colours of the page that canvases use, by what they are for. */
export interface Palette {
  background: Colour;
  panel: Colour;
  line: Colour;
  text: Colour;
  dim: Colour;
  accent: Colour;
  mark: Colour;
  /** Told apart by lightness and hue. */
  series: readonly Colour[];
}

const SERIES = 8;

/** Reads the custom properties of an element's page. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  // A pixel has red, green and blue however a style sheet wrote the colour.
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

/** Calls back whenever the page's colours change. @returns what ends that */
export function onSchemeChange(changed: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", changed);
  document.documentElement.addEventListener("memshade-scheme", changed);
  return () => {
    system.removeEventListener("change", changed);
    document.documentElement.removeEventListener("memshade-scheme", changed);
  };
}
