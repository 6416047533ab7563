import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import type { FilePiece } from "../../bytes/file-piece.ts";

const PIECE_BYTES = 1 << 18;

/**
 * Writes a file piece by piece, beside its final name, and renames it when it is whole. Whatever fails, nothing is
 * left behind.
 *
 * @throws UserError if it cannot be written
 */
export function writePieces(path: string, pieces: Iterable<FilePiece>): void {
  const partial = join(dirname(resolve(path)), `.${basename(path)}.${process.pid}.partial`);
  let file: number;
  try {
    file = openSync(partial, "w");
  } catch (error) {
    throw new UserError(`cannot write ${path}: ${(error as Error).message.split(",")[0]}`);
  }
  try {
    try {
      writeAll(file, pieces);
    } finally {
      closeSync(file);
    }
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UserError(`cannot write ${path}: ${(error as Error).message.split(",")[0]}`);
  }
}

function writeAll(file: number, pieces: Iterable<FilePiece>): void {
  let text = "";
  const write = (bytes: Uint8Array, position: number | null = null) => {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(file, bytes, at, bytes.length - at, position === null ? null : position + at);
    }
  };
  for (const piece of pieces) {
    if (typeof piece !== "string") {
      if (piece instanceof Uint8Array) write(piece);
      else write(piece.bytes, piece.at);
      continue;
    }
    text += piece;
    if (text.length < PIECE_BYTES) continue;
    write(Buffer.from(text));
    text = "";
  }
  if (text !== "") write(Buffer.from(text));
}
