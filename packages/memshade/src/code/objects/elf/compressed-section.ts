import { FormatError } from "../../../ground/bytes/errors.ts";
import type { Decompressors } from "../types.ts";
import { ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD } from "./constants.ts";
import { getU64, viewOf } from "./header.ts";

/** What stands in front of compressed bytes. */
export interface CompressionHeader {
  readonly method: "zlib" | "zstd";
  /** Bytes that come out. */
  readonly size: number;
  /** Where the compressed bytes start in the section. */
  readonly start: number;
}

/** How many bytes one compressed byte can stand for: deflate by its format, zstd by its shortest block. */
const LARGEST_RATIO = { zlib: 1040, zstd: 2 ** 17 };

/** The header of a section with `SHF_COMPRESSED` (`Elf32_Chdr`, `Elf64_Chdr`); undefined if it is none known. */
export function readCompressionHeader(section: Uint8Array, is64: boolean): CompressionHeader | undefined {
  const start = is64 ? 24 : 12;
  if (section.length < start) return undefined;
  const view = viewOf(section);
  const type = view.getUint32(0, true);
  const method = type === ELFCOMPRESS_ZLIB ? "zlib" : type === ELFCOMPRESS_ZSTD ? "zstd" : undefined;
  if (method === undefined) return undefined;
  return { method, size: is64 ? getU64(view, 8) : view.getUint32(4, true), start };
}

/** The header of an old `.zdebug_*` section: "ZLIB" and the size as a big-endian 64-bit number. */
export function readOldCompressionHeader(section: Uint8Array): CompressionHeader | undefined {
  if (section.length < 12) return undefined;
  const view = viewOf(section);
  if (view.getUint32(0) !== 0x5a4c4942) return undefined;
  return { method: "zlib", size: view.getUint32(4) * 2 ** 32 + view.getUint32(8), start: 12 };
}

/**
 * Decompresses a section's content; undefined without a decompressor for its method.
 *
 * @throws FormatError if the bytes are damaged or claim a size that they cannot have
 */
export function decompressSection(
  section: Uint8Array,
  header: CompressionHeader,
  fileOffset: number,
  { inflate, zstd }: Decompressors,
): Uint8Array | undefined {
  const decompress = header.method === "zlib" ? inflate : zstd;
  if (decompress === undefined) return undefined;
  const compressed = section.subarray(header.start);
  const malformed = (detail: string) =>
    new FormatError("malformed", fileOffset, "compressed section", detail);
  if (header.size > compressed.length * LARGEST_RATIO[header.method])
    throw malformed(`${compressed.length} bytes cannot become ${header.size}`);
  let content: Uint8Array;
  try {
    content = decompress(compressed, header.size);
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
  if (content.length !== header.size)
    throw malformed(`${content.length} bytes came out, ${header.size} were announced`);
  return content;
}
