import { joinPieces, type Patch } from "../../../ground/bytes/file-piece.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { DataAccessProfile } from "../../model/memprof/index.ts";
import { writeDataAccessChunk } from "./data-access-chunk.ts";
import { CHUNK, type Deflate, MAGIC, PACKING, PIECE_BYTES, VERSION } from "./layout.ts";
import type { RecordChunks } from "./record-chunks.ts";

/** Size of a directory entry: kind and packing take a byte each, the two sizes five. */
const ENTRY_BYTES = 12;

export interface PackedChunk {
  readonly packing: number;
  readonly storedBytes: number;
  readonly plainBytes: number;
}

/**
 * Writer of a file with a known number of chunks. The directory is patched in at its reserved position when the sizes
 * of all chunks are known.
 */
export class ChunkFile {
  readonly #chunks: number;
  readonly #deflate: Deflate;
  readonly #directory: ByteWriter;
  readonly #writer = new ByteWriter(1 << 14);
  #directoryAt = 0;

  constructor(chunks: number, deflate: Deflate) {
    this.#chunks = chunks;
    this.#deflate = deflate;
    this.#directory = new ByteWriter(ENTRY_BYTES * chunks);
  }

  *begin(): Generator<Uint8Array, void, undefined> {
    const head = new ByteWriter(1 << 8).bytes(MAGIC).u32Leb(VERSION).u32Leb(this.#chunks);
    this.#directoryAt = head.length;
    yield head.finish();
    yield new Uint8Array(ENTRY_BYTES * this.#chunks);
  }

  *chunk(
    kind: number,
    write: (writer: ByteWriter) => Iterable<void>,
  ): Generator<Uint8Array, void, undefined> {
    const writer = this.#writer;
    const deflate = this.#deflate;
    this.note(kind, yield* packChunk(writer, () => write(writer), deflate));
  }

  /** Records a chunk in the directory; the caller passes on its bytes. */
  note(kind: number, { packing, storedBytes, plainBytes }: PackedChunk): void {
    const directory = this.#directory;
    directory.u32Leb(kind).u32Leb(packing);
    for (const size of [storedBytes, plainBytes]) directory.patchU32Leb(directory.reserveU32Leb(), size);
  }

  end(): Patch {
    return { at: this.#directoryAt, bytes: this.#directory.finish() };
  }
}

/**
 * Packs the output of `write` in pieces of a fixed size, independent of the points where `write` stops, so that equal
 * content is packed alike. A small chunk stays unpacked if packing does not shorten it.
 */
export function* packChunk(
  writer: ByteWriter,
  write: () => Iterable<void>,
  deflate: Deflate,
): Generator<Uint8Array, PackedChunk, undefined> {
  writer.clear();
  const parts = write()[Symbol.iterator]();
  let isDone = false;
  const fill = () => {
    while (!isDone && writer.length < PIECE_BYTES) isDone = parts.next().done === true;
  };
  fill();
  if (writer.length < PIECE_BYTES) {
    const packed = joinPieces(deflate.pack([writer.view()]));
    const isWorth = packed.length < writer.length;
    const content = isWorth ? packed : writer.view();
    yield content;
    const packing = isWorth ? PACKING.deflate : PACKING.none;
    return { packing, storedBytes: content.length, plainBytes: writer.length };
  }
  let plainBytes = 0;
  function* pieces() {
    for (; writer.length > 0; fill()) {
      const content = writer.view();
      let at = 0;
      for (; content.length - at >= PIECE_BYTES; at += PIECE_BYTES)
        yield content.subarray(at, at + PIECE_BYTES);
      const rest = content.slice(at);
      plainBytes += at;
      writer.clear();
      if (!isDone) writer.bytes(rest);
      else if (rest.length > 0) {
        plainBytes += rest.length;
        yield rest;
      }
    }
  }
  let storedBytes = 0;
  for (const packed of deflate.pack(pieces())) {
    storedBytes += packed.length;
    yield packed;
  }
  return { packing: PACKING.deflate, storedBytes, plainBytes };
}

/** Yields the end of a memshade profile after the contexts: records, data accesses, and the directory's patch. */
export function* lastChunks(
  file: ChunkFile,
  records: RecordChunks,
  dataAccess: DataAccessProfile | undefined,
): Generator<Uint8Array | Patch, void, undefined> {
  for (let index = 0; index < records.chunkCount; index++)
    yield* file.chunk(CHUNK.records, (writer) => records.write(writer, index));
  if (dataAccess !== undefined)
    yield* file.chunk(CHUNK.dataAccess, (writer) => {
      writer.bytes(writeDataAccessChunk(dataAccess));
      return [];
    });
  yield file.end();
}
