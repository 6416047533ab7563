/** Draws codes and reads them. */
export async function work({ prepareZXingModule, writeBarcode, readBarcodes }, wasmBinary) {
  await prepareZXingModule({ overrides: { wasmBinary }, fireImmediately: true });
  const texts = [];
  for (const format of ["QRCode", "Aztec", "DataMatrix", "PDF417", "Code128"]) {
    const { image } = await writeBarcode(`a code of the kind ${format}`, { format, scale: 4 });
    const [found] = await readBarcodes(image, {});
    texts.push(`${image.size} ${found?.text}`);
  }
  return texts.join("; ");
}
