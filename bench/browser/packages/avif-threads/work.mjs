/** Encodes a made-up image in as many threads as there are processors. */
export async function work(open) {
  const [width, height] = [320, 240];
  const pixels = new Uint8Array(4 * width * height).map((_, i) => (i % 4 === 3 ? 255 : (i * i) >> (i % 7)));
  const codec = await open();
  const options = { quality: 50, qualityAlpha: -1, denoiseLevel: 0, tileColsLog2: 1, tileRowsLog2: 1, speed: 8 };
  const more = { subsample: 1, chromaDeltaQ: false, sharpness: 0, tune: 0, enableSharpYUV: false, bitDepth: 8 };
  const image = codec.encode(pixels, width, height, { ...options, ...more, lossless: false });
  const digest = await crypto.subtle.digest("SHA-1", image);
  return `${image.length} bytes, ${new Uint8Array(digest).toHex()}`;
}
