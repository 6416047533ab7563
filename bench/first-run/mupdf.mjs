// A document is made, and its pages are drawn.
import * as mupdf from "mupdf";

const document = new mupdf.PDFDocument();
const font = document.addSimpleFont(new mupdf.Font("Helvetica"));
const resources = document.addObject({ Font: { F1: font } });
const PAGES = 5;
for (let page = 0; page < PAGES; page++) {
  let text = "BT /F1 11 Tf 12 TL 40 800 Td\n";
  for (let line = 0; line < 60; line++)
    text += `(Line ${line} of page ${page}: the quick brown fox jumps over the lazy dog) Tj T*\n`;
  document.insertPage(-1, document.addPage([0, 0, 595, 842], 0, resources, `${text}ET`));
}
let sum = 0;
for (let page = 0; page < PAGES; page++) {
  const pixmap = document.loadPage(page).toPixmap(mupdf.Matrix.scale(2, 2), mupdf.ColorSpace.DeviceRGB);
  for (const byte of pixmap.getPixels()) sum = (sum + byte) % 65521;
}
console.log(document.countPages(), sum);
