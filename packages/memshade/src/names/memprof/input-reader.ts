import { closeSync, fstatSync, readSync } from "node:fs";
import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { descriptorSource, openRegular } from "../load/file.ts";
import type { MergeInput } from "./inputs.ts";

/** Files up to this size are read at once, all into the same buffer; of larger ones only pieces are in memory. */
const SMALL_BYTES = 4 << 20;

/** So many bytes tell the formats apart. */
export const MAGIC_BYTES = 8;

/** Opens inputs one after the other. */
export class InputReader {
  #buffer = new Uint8Array(0);

  /**
   * Gives an input to `use`, as a source that is valid until it returns.
   *
   * @throws what the file system throws
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

/** All bytes of a source, in an array of their own. */
export function wholeSource(source: ByteSource): Uint8Array {
  const bytes = source.read(0, source.size);
  // What a source without `readInto` gives out is a view of its own bytes.
  return source.readInto === undefined ? bytes.slice() : bytes;
}

/** The reader of YAML, which takes time and memory to load. */
export async function loadYamlReader() {
  return (await import("../../profile/formats/memprof-text/read-yaml.ts")).readMemprofYaml;
}

/** What is wrong with a file, as the end of a sentence that begins with its name. */
export function faultOf({ kind, construct, detail, message }: FormatError): string {
  if (kind !== "unsupported-version") return `is damaged: ${message}`;
  // Of a profile of ours, what it was made of can be merged again.
  return construct === "memshade profile"
    ? `was written by another version of memshade: ${detail}; merge again what it was made of`
    : `is of a version that is not read here: ${construct}, ${detail}`;
}

/** What `action` returns; whatever is wrong with the file is said in one line that names it. */
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
