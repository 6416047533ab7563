/** Draws, blurs and turns a picture, and writes it in three formats. */
export async function work({ initializeImageMagick, ImageMagick, MagickColors, MagickFormat }, wasm) {
  await initializeImageMagick(wasm);
  const sizes = [];
  ImageMagick.read(MagickColors.Tomato, 160, 120, (image) => {
    image.vignette();
    image.blur(3, 2);
    image.rotate(30);
    image.resize(90, 70);
    for (const format of [MagickFormat.Png, MagickFormat.Jpeg, MagickFormat.WebP])
      image.write(format, (data) => sizes.push(`${format} ${data.length}`));
  });
  return sizes.join();
}
