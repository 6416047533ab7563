/** Bytes for a place in a file that was written before, at an offset from its start. */
export interface Patch {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** What is written to a file next, or over what is there. Valid until the next piece is asked for. */
export type FilePiece = Uint8Array | string | Patch;

/** Pieces that hold no text, in one array. */
export function joinPieces(pieces: Iterable<Uint8Array | Patch>): Uint8Array {
  const parts: Uint8Array[] = [];
  const patches: Patch[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      patches.push({ at: piece.at, bytes: piece.bytes.slice() });
      continue;
    }
    parts.push(piece.slice());
    length += piece.length;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  for (const patch of patches) whole.set(patch.bytes, patch.at);
  return whole;
}
