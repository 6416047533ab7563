import type { ZstdDecompress } from "node:zlib";
import type { Decompressed, Decompressor } from "../../../profile/formats/perf-data/index.ts";

// Loaded when it is needed: few files are compressed, and each start would wait for it.
const zlib = () => process.getBuiltinModule("node:zlib");

/** What comes out of Node's stream at a time: with its choice of 16 KiB most of the time goes into handing pieces on. */
const CHUNK_BYTES = 2 ** 18;

/** Begins to decompress the Zstandard stream of perf's compressed records. */
export function nodeZstd(): Decompressor {
  const stream = zlib().createZstdDecompress({ chunkSize: CHUNK_BYTES });
  return decompressInPlace(stream) ?? decompressByStream(stream);
}

/** What Node's synchronous functions of this kind (`zstdDecompressSync`) call for each piece of a buffer. */
interface StepwiseHandle {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputOffset: number,
    inputBytes: number,
    output: Uint8Array,
    outputOffset: number,
    outputBytes: number,
  ): void;
}

/**
 * Decompresses in this thread, and to where it is wanted: a third of the time that the stream takes, which hands each
 * piece to another thread, and allocates and copies what comes back. Node documents no way to do so with a stream that
 * goes on, so this asks for what its own functions use.
 *
 * @returns undefined if this Node has it not
 */
export function decompressInPlace(stream: ZstdDecompress): Decompressor | undefined {
  const { _handle: handle, _writeState: left } = stream as unknown as {
    _handle?: Partial<StepwiseHandle> | null;
    _writeState?: unknown;
  };
  if (typeof handle?.writeSync !== "function" || !(left instanceof Uint32Array) || left.length !== 2)
    return undefined;
  const { writeSync } = handle as StepwiseHandle;
  const { ZSTD_e_continue: flush } = zlib().constants;
  // A failure is an event besides, later.
  stream.on("error", () => {});
  return (input, room): Decompressed => {
    if (stream.errored) throw stream.errored;
    writeSync.call(handle, flush, input, 0, input.length, room, 0, room.length);
    if (stream.errored) throw stream.errored;
    const [roomLeft = 0, inputLeft = 0] = left;
    return { read: input.length - inputLeft, written: room.length - roomLeft };
  };
}

/** Decompresses by what Node documents. */
export function decompressByStream(stream: ZstdDecompress): Decompressor {
  const pieces: Uint8Array[] = [];
  let failure: Error | undefined;
  // A damaged stream tells so by its event; the callback of the write may never come.
  let fail: (error: Error) => void = () => {};
  stream.on("data", (piece: Uint8Array) => pieces.push(piece));
  stream.on("error", (error) => {
    failure = error;
    fail(error);
  });
  const write = (input: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      fail = reject;
      stream.write(input, (error) => (error ? reject(error) : resolve()));
    });
  return async (input, room) => {
    if (failure !== undefined) throw failure;
    if (input.length > 0) await write(input);
    let written = 0;
    for (let piece = pieces[0]; piece !== undefined && written < room.length; piece = pieces[0]) {
      const part = piece.subarray(0, room.length - written);
      room.set(part, written);
      written += part.length;
      if (part.length === piece.length) pieces.shift();
      else pieces[0] = piece.subarray(part.length);
    }
    return { read: input.length, written };
  };
}
