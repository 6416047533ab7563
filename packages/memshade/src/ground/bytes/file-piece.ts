/** Bytes that replace content written before, at an offset from the file's start. */
export interface Patch {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Next bytes of a file, or a patch of earlier ones. A piece is valid until the next one is requested. */
export type FilePiece = Uint8Array | string | Patch;

/** Joins pieces without text into one array. */
export function joinPieces(pieces: Iterable<Uint8Array | Patch>): Uint8Array {
  const parts: Uint8Array[] = [];
  const patches: Patch[] = [];
  for (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      patches.push({ at: piece.at, bytes: piece.bytes.slice() });
      continue;
    }
    parts.push(piece.slice());
  }
  const whole = concatenated(parts);
  for (const patch of patches) whole.set(patch.bytes, patch.at);
  return whole;
}

export function concatenated(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
