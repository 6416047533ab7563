import type { WasteFile } from "../../../../profile/model/waste/waste.ts";

/** Characters that a string may have in engines of today, with something to spare. */
const LONGEST_STRING = 2 ** 29 - 2 ** 16;

/** The JSON of `waste.json`, one record per line; as bytes where it is too long for a string. */
export function wasteText(file: WasteFile, longestString: number = LONGEST_STRING): string | Uint8Array {
  const pieces: string[] = [];
  let length = 0;
  const write = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  let before = "{\n";
  for (const [name, value] of Object.entries(file)) {
    if (value === undefined) continue;
    write(`${before}"${name}": `);
    before = ",\n";
    if (!Array.isArray(value)) {
      write(JSON.stringify(value));
      continue;
    }
    let start = "[\n";
    for (const record of value) {
      write(start + JSON.stringify(record));
      start = ",\n";
    }
    write(value.length === 0 ? "[]" : "\n]");
  }
  write("\n}\n");
  return length <= longestString ? pieces.join("") : bytesOf(pieces);
}

function bytesOf(pieces: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = pieces.map((piece) => encoder.encode(piece));
  const bytes = new Uint8Array(encoded.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of encoded) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
