import type { FilePiece } from "../../ground/bytes/file-piece.ts";
import { type WholeFile, writeWholeFile } from "../load/whole-file.ts";

const PIECE_BYTES = 1 << 18;

/**
 * Writes a file piece by piece.
 *
 * @throws UserError if it cannot be written; no file is left behind then
 */
export function writePieces(path: string, pieces: Iterable<FilePiece>): void {
  writeWholeFile(path, (file) => writeAll(file, pieces));
}

function writeAll(file: WholeFile, pieces: Iterable<FilePiece>): void {
  let text = "";
  for (const piece of pieces) {
    if (typeof piece !== "string") {
      if (piece instanceof Uint8Array) file.write(piece);
      else file.write(piece.bytes, piece.at);
      continue;
    }
    text += piece;
    if (text.length < PIECE_BYTES) continue;
    file.write(text);
    text = "";
  }
  if (text !== "") file.write(text);
}
