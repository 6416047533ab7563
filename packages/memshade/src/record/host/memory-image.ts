import { closeSync, fstatSync, readSync } from "node:fs";
import { UserError } from "../../ground/bytes/errors.ts";
import { WASM_PAGE_BYTES } from "../../ground/bytes/sizes.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { openRegular } from "../../names/load/file.ts";

const CHUNK_BYTES = 1 << 20;

/**
 * Reads a saved copy of a shadow memory. Images are large and mostly zeros. Parts with zeros are skipped, so that they
 * take no memory here, nor on disk if the file is sparse.
 * @throws UserError when the file cannot be read or is no copy of a memory.
 */
export function readMemoryImage(path: string): WebAssembly.Memory {
  let file: number;
  try {
    file = openRegular(path);
  } catch (error) {
    throw new UserError(`${path}: ${describeSystemError(error)}`);
  }
  try {
    const { size } = fstatSync(file);
    if (size === 0 || size % WASM_PAGE_BYTES !== 0 || size > 2 ** 32)
      throw new UserError(`${path}: not the image of a memory: ${size} bytes are no number of 64 KiB pages`);
    const pages = size / WASM_PAGE_BYTES;
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const zeros = Buffer.alloc(CHUNK_BYTES);
    for (let at = 0; at < size; ) {
      const length = readSync(file, chunk, 0, CHUNK_BYTES, at);
      if (length === 0) throw new UserError(`${path}: truncated at ${at} bytes`);
      const read = chunk.subarray(0, length);
      if (!read.equals(zeros.subarray(0, length))) new Uint8Array(memory.buffer, at, length).set(read);
      at += length;
    }
    return memory;
  } finally {
    closeSync(file);
  }
}
