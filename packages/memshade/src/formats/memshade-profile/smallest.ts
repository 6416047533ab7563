import { joinPieces, type Patch } from "../../bytes/file-piece.ts";
import { ByteWriter } from "../../bytes/writer.ts";
import { compactOf, packProfile } from "./compact/index.ts";
import { CHUNK, type Deflate, MAGIC, PACKING, VERSION } from "./layout.ts";
import { MemshadeProfile } from "./read.ts";

/** Files of this size are small. */
const SMALL_BYTES = 1 << 16;

/**
 * The pieces of a file in chunks; of a small one, those of a file that has the profile in one chunk, where that holds
 * all and is smaller.
 */
export function* smallestPieces<T>(
  pieces: Generator<Uint8Array | Patch, T, undefined>,
  deflate: Deflate,
): Generator<Uint8Array | Patch, T, undefined> {
  const held: (Uint8Array | Patch)[] = [];
  let size = 0;
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) {
      const chunked = joinPieces(held);
      yield wholeFile(chunked, deflate) ?? chunked;
      return piece.value;
    }
    if (piece.value instanceof Uint8Array) {
      held.push(piece.value.slice());
      size += piece.value.length;
    } else {
      held.push({ at: piece.value.at, bytes: piece.value.bytes.slice() });
    }
    if (size <= SMALL_BYTES) continue;
    yield* held;
    return yield* pieces;
  }
}

/** A file with one chunk; undefined if that would lose something or gain nothing. */
function wholeFile(chunked: Uint8Array, deflate: Deflate): Uint8Array | undefined {
  const profile = new MemshadeProfile(chunked, deflate);
  const compact = compactOf(profile.whole(), profile.origin);
  const packed = compact && packProfile(compact);
  if (packed === undefined) return undefined;
  const { bytes, symbols } = packed;
  const file = new ByteWriter(bytes.length + 64).bytes(MAGIC).u32Leb(VERSION.whole).u32Leb(1);
  file.u32Leb(CHUNK.whole).u32Leb(PACKING.symbols).u32Leb(bytes.length).u32Leb(symbols).bytes(bytes);
  return file.length < chunked.length ? file.finish() : undefined;
}
