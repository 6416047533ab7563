/** An unsigned 64-bit value as a number: exact up to 2^53. */
export function getU64(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}

/** An unsigned 64-bit value as 16 hexadecimal digits, for comparing. */
export function getId(view: DataView, at: number): string {
  return hex(view.getUint32(at + 4, true)) + hex(view.getUint32(at, true));
}

function hex(word: number): string {
  return word.toString(16).padStart(8, "0");
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const utf8 = new TextDecoder();

/** The text in a view up to its first NUL, or up to `end`. */
export function textAt(view: DataView, start: number, end = view.byteLength): string {
  let length = 0;
  const limit = Math.max(0, Math.min(end, view.byteLength) - start);
  while (length < limit && view.getUint8(start + length) !== 0) length++;
  return utf8.decode(new Uint8Array(view.buffer, view.byteOffset + start, length));
}

export function hexBytes(view: DataView, start: number, length: number): string {
  return Array.from({ length }, (_, index) =>
    view
      .getUint8(start + index)
      .toString(16)
      .padStart(2, "0"),
  ).join("");
}
