import { FormatError } from "../errors.ts";
import { checkBytes, crc32, crc64 } from "./checks.ts";
import { LzmaDecoder } from "./lzma.ts";

const MAGIC = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];
const STREAM_HEADER_BYTES = 12;
const STREAM_FLAGS_AT = 6;
const FILTER_LZMA2 = 0x21;
const CHECK_CRC32 = 1;
const CHECK_CRC64 = 4;

/**
 * Decompresses one `.xz` stream (The .xz File Format, 1.2.1) with the LZMA2 filter alone, as debug information is
 * compressed.
 *
 * @param mostBytes more than these are refused
 * @throws FormatError if it is none, is damaged, needs another filter, or becomes too large
 */
export function decompressXz(input: Uint8Array, mostBytes: number): Uint8Array<ArrayBuffer> {
  if (input.length < STREAM_HEADER_BYTES || MAGIC.some((byte, i) => input[i] !== byte)) {
    throw new FormatError("bad-magic", 0, "xz stream");
  }
  checkCrc32(input, STREAM_FLAGS_AT, STREAM_FLAGS_AT + 2, "xz stream");
  const check = input[STREAM_FLAGS_AT + 1]! & 0x0f;
  const decoder = new LzmaDecoder(input, Math.min(mostBytes, 8 * input.length));
  const blocks: Block[] = [];
  let at = STREAM_HEADER_BYTES;
  // A size of 0 begins the index.
  while (byteAt(input, at) !== 0) {
    const start = decoder.length;
    const end = decodeChunks(input, blockContent(input, at), decoder, mostBytes);
    const checkAt = Math.ceil(end / 4) * 4;
    verify(input, checkAt, check, decoder.output.subarray(start, decoder.length));
    const size = checkBytes(check);
    blocks.push({ unpadded: end - at + size, uncompressed: decoder.length - start });
    at = checkAt + size;
  }
  verifyIndex(input, at, blocks);
  return decoder.output.subarray(0, decoder.length);
}

/** What the index says of a block: its bytes without padding, and those of its content. */
type Block = { unpadded: number; uncompressed: number };

/** A stream whose first damaged byte says that no block follows is told from an empty one by its index alone. */
function verifyIndex(input: Uint8Array, start: number, blocks: readonly Block[]): void {
  let [count, at] = readNumber(input, start + 1);
  let isRight = count === blocks.length;
  for (const block of isRight ? blocks : []) {
    [count, at] = readNumber(input, at);
    isRight &&= count === block.unpadded;
    [count, at] = readNumber(input, at);
    isRight &&= count === block.uncompressed;
  }
  if (!isRight) throw new FormatError("malformed", start, "xz index", "it does not fit the blocks");
  checkCrc32(input, start, start + Math.ceil((at - start) / 4) * 4, "xz index");
}

/** @throws FormatError unless the CRC-32 behind the bytes `start` to `end` is theirs */
function checkCrc32(input: Uint8Array, start: number, end: number, what: string): void {
  if (end + 4 > input.length) throw new FormatError("truncated", end, what);
  const stored = new DataView(input.buffer, input.byteOffset).getUint32(end, true);
  if (stored !== crc32(input.subarray(start, end))) {
    throw new FormatError("malformed", end, what, "its check sum does not fit");
  }
}

function byteAt(input: Uint8Array, at: number): number {
  const byte = input[at];
  if (byte === undefined) throw new FormatError("truncated", at, "xz stream");
  return byte;
}

/** The number at `at`, and the position behind it. */
function readNumber(input: Uint8Array, at: number): [value: number, end: number] {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = byteAt(input, at++);
    value += (byte & 0x7f) * scale;
    if (byte < 0x80 || scale > 2 ** 49) return [value, at];
  }
}

/** Where the content of the block begins whose header stands at `at`. */
function blockContent(input: Uint8Array, at: number): number {
  const end = at + 4 * (byteAt(input, at) + 1);
  checkCrc32(input, at, end - 4, "xz block");
  const flags = byteAt(input, at + 1);
  let position = at + 2;
  for (const sizeFlag of [0x40, 0x80]) {
    if (flags & sizeFlag) [, position] = readNumber(input, position);
  }
  const isAlone = (flags & 0x03) === 0 && readNumber(input, position)[0] === FILTER_LZMA2;
  if (!isAlone) throw new FormatError("unsupported", at, "xz block", "its filter is not LZMA2 alone");
  return end;
}

/** Decodes the chunks from `at` on, and returns the position behind the last one. */
function decodeChunks(input: Uint8Array, at: number, decoder: LzmaDecoder, mostBytes: number): number {
  for (;;) {
    const control = byteAt(input, at);
    if (control === 0) return at + 1;
    if (control === 1 || control >= 0xe0) decoder.dictionaryStart = decoder.length;
    const isLzma = control >= 0x80;
    if (!isLzma && control > 2) throw new FormatError("malformed", at, "LZMA2 chunk");
    const count =
      ((isLzma ? control & 0x1f : 0) << 16) + (byteAt(input, at + 1) << 8) + byteAt(input, at + 2) + 1;
    if (decoder.length + count > mostBytes) {
      throw new FormatError("unsupported", at, "xz stream", "the content is too large");
    }
    decoder.reserve(count);
    at = isLzma ? decodeChunk(input, at, control, count, decoder) : copyChunk(input, at + 3, count, decoder);
  }
}

function copyChunk(input: Uint8Array, start: number, count: number, decoder: LzmaDecoder): number {
  if (start + count > input.length) throw new FormatError("truncated", start, "LZMA2 chunk");
  decoder.output.set(input.subarray(start, start + count), decoder.length);
  decoder.length += count;
  return start + count;
}

function decodeChunk(
  input: Uint8Array,
  at: number,
  control: number,
  count: number,
  decoder: LzmaDecoder,
): number {
  const hasProperties = control >= 0xc0;
  const start = at + (hasProperties ? 6 : 5);
  const end = start + (byteAt(input, at + 3) << 8) + byteAt(input, at + 4) + 1;
  if (end > input.length) throw new FormatError("truncated", at, "LZMA2 chunk");
  if (hasProperties && !decoder.setProperties(input[at + 5]!)) {
    throw new FormatError("malformed", at, "LZMA2 chunk", "its properties are damaged");
  }
  if (control >= 0xa0) decoder.resetState();
  if (!decoder.decode(start, end, count)) throw new FormatError("malformed", at, "LZMA2 chunk");
  return end;
}

function verify(input: Uint8Array, at: number, check: number, content: Uint8Array): void {
  const size = checkBytes(check);
  if (at + size > input.length) throw new FormatError("truncated", at, "xz block");
  const view = new DataView(input.buffer, input.byteOffset + at, size);
  const isRight =
    check === CHECK_CRC32
      ? view.getUint32(0, true) === crc32(content)
      : check !== CHECK_CRC64 || view.getBigUint64(0, true) === crc64(content);
  if (!isRight) throw new FormatError("malformed", at, "xz block", "its check sum does not fit");
}
