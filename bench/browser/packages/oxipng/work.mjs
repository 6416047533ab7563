/** Packs a picture of stripes as a PNG. */
export function work({ optimise_raw }) {
  const [width, height] = [160, 120];
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let i = 0; i < pixels.length; i++) pixels[i] = i % 4 === 3 ? 255 : ((i >> 4) * 37 + (i % 4) * 11) & 0xf8;
  const bytes = optimise_raw(pixels, width, height, 3, false, true);
  return `${bytes.length} ${bytes.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7)}`;
}
