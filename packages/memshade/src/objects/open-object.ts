import { type ByteSource, sourceOfBytes } from "../bytes/byte-source.ts";
import { FormatError } from "../bytes/errors.ts";
import { ElfObject } from "./elf/elf-object.ts";
import { isElf } from "./elf/header.ts";
import type { Decompressors, ObjectFile } from "./types.ts";
import { isWasm, WasmObject } from "./wasm/wasm-object.ts";

/**
 * Opens an ELF file (little-endian: x86-64, i386, aarch64) or a wasm module. Nothing is copied, and little is read: of
 * an open file (a `ByteSource`) just the headers. The bytes must not change afterwards.
 *
 * @throws FormatError if it is neither, or of a kind that is not supported. Damage behind the header never throws;
 * see `ObjectFile.problems`.
 */
export function openObject(file: Uint8Array | ByteSource, decompressors: Decompressors = {}): ObjectFile {
  const source = file instanceof Uint8Array ? sourceOfBytes(file) : file;
  if (isElf(source)) return new ElfObject(source, decompressors);
  if (isWasm(source)) return new WasmObject(source);
  const detail = source.size === 0 ? "the file is empty" : "the file is neither ELF nor wasm";
  throw new FormatError("bad-magic", 0, "object file", detail);
}
