import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { ElfObject } from "./elf/elf-object.ts";
import { isElf } from "./elf/header.ts";
import type { Decompressors, ObjectFile } from "./types.ts";
import { isWasm, WasmObject } from "./wasm/wasm-object.ts";

/**
 * Opens an ELF file (little-endian: x86-64, i386, aarch64) or a wasm module. The bytes are not copied, and of an
 * open file (a `ByteSource`) only the headers are read. The bytes must not change afterwards.
 *
 * @throws FormatError if the file is neither, or of an unsupported kind. Damage after the header never throws; see
 * `ObjectFile.problems`.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { openObject } from "memshade/unwind";
 *
 * const object = openObject(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
 * assert.equal(object.architecture, "wasm32");
 * assert.equal(object.section(".debug_info"), undefined);
 * ```
 */
export function openObject(file: Uint8Array | ByteSource, decompressors: Decompressors = {}): ObjectFile {
  const source = file instanceof Uint8Array ? sourceOfBytes(file) : file;
  if (isElf(source)) return new ElfObject(source, decompressors);
  if (isWasm(source)) return new WasmObject(source);
  const detail = source.size === 0 ? "the file is empty" : "the file is neither ELF nor wasm";
  throw new FormatError("bad-magic", 0, "object file", detail);
}
