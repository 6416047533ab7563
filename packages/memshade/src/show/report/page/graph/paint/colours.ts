/** Red, green and blue, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

export const BLACK: Colour = [0, 0, 0];
export const WHITE: Colour = [255, 255, 255];

/** The part `share` (0 to 1) of the second colour in the first one. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  return [0, 1, 2].map((channel) =>
    Math.round(from[channel] + (to[channel] - from[channel]) * share),
  ) as unknown as Colour;
}

export function toText([red, green, blue]: Colour): string {
  return `rgb(${red},${green},${blue})`;
}

/** Relative luminance as WCAG 2 defines it, 0 to 1. */
export function luminance(colour: Colour): number {
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

/** Black or white, which of both is easier to read on a colour: always at least 4.5 : 1. */
export function inkOn(colour: Colour): Colour {
  return contrast(colour, BLACK) >= contrast(colour, WHITE) ? BLACK : WHITE;
}
