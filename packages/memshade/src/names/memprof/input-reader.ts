import { closeSync, fstatSync, readSync } from "node:fs";
import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { descriptorSource, openRegular } from "../load/file.ts";
import type { MergeInput } from "./inputs.ts";

/** Files up to this size are read at once into a shared buffer; larger ones are read in pieces. */
const SMALL_BYTES = 4 << 20;

/** Number of bytes that distinguish the formats. */
export const MAGIC_BYTES = 8;

export class InputReader {
  #buffer = new Uint8Array(0);

  /**
   * Calls `use` with an input as a source that is valid until it returns.
   *
   * @throws errors of the file system
   */
  open<T>({ path, bytes }: MergeInput, use: (source: ByteSource) => T): T {
    if (bytes !== undefined) return use(sourceOfBytes(bytes));
    const file = openRegular(path);
    try {
      const status = fstatSync(file);
      if (status.size > SMALL_BYTES) return use(descriptorSource(path, file, status.size));
      if (this.#buffer.length < status.size) this.#buffer = new Uint8Array(status.size);
      return use(sourceOfBytes(this.#fill(file, status.size)));
    } finally {
      closeSync(file);
    }
  }

  #fill(file: number, size: number): Uint8Array {
    let filled = 0;
    while (filled < size) {
      const count = readSync(file, this.#buffer, filled, size - filled, filled);
      if (count === 0) break;
      filled += count;
    }
    return this.#buffer.subarray(0, filled);
  }
}

export function wholeSource(source: ByteSource): Uint8Array {
  const bytes = source.read(0, source.size);
  // A source without `readInto` returns views of its own bytes.
  return source.readInto === undefined ? bytes.slice() : bytes;
}

/** Loads the YAML reader, which takes time and memory. */
export async function loadYamlReader() {
  return (await import("../../profile/formats/memprof-text/read-yaml.ts")).readMemprofYaml;
}

export function faultOf({ kind, construct, detail, message }: FormatError): string {
  if (kind !== "unsupported-version") return `is damaged: ${message}`;
  // The inputs of a memshade profile can be merged again.
  return construct === "memshade profile"
    ? `was written by another version of memshade: ${detail}; merge again what it was made of`
    : `is of a version that is not read here: ${construct}, ${detail}`;
}

/** Returns the result of `action`; problems with the file become an error in one line that names it. */
export function explained<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof FormatError) throw new UserError(`${path} ${faultOf(error)}`);
    if (error instanceof UserError) throw new UserError(`${path}: ${error.message}`);
    if ((error as NodeJS.ErrnoException).code !== undefined)
      throw new UserError(`${path} cannot be read: ${describeSystemError(error)}`);
    throw error;
  }
}
