import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { ObjectSection } from "../types.ts";
import type { FunctionBody } from "./symbols.ts";

/** Bytes of the code section that are in memory at a time. */
const WINDOW_BYTES = 1 << 16;
const LONGEST_LEB = 5;
/** Length and content. */
const SHORTEST_ENTRY = 2;

/** Where the entries of a code section are, by their offsets in it. */
export class FunctionBodies {
  /** Of the first entry, and behind each. */
  readonly #first: number;
  readonly #ends: Uint32Array;
  readonly #damage: FormatError | undefined;

  constructor(first: number, ends: Uint32Array, damage: FormatError | undefined) {
    this.#first = first;
    this.#ends = ends;
    this.#damage = damage;
  }

  /** The entry around an offset. @throws FormatError where those before it could not be read */
  around(offset: number): FunctionBody | undefined {
    const ends = this.#ends;
    const index = partitionPoint(0, ends.length, (before) => ends[before] <= offset);
    if (index === ends.length && this.#damage !== undefined) throw this.#damage;
    const address = index === 0 ? this.#first : ends[index - 1];
    if (index === ends.length || offset < address) return undefined;
    return { index, address, size: ends[index] - address };
  }

  /** All entries. @throws FormatError after those that could be read, if there should be more */
  visit(visit: (index: number, start: number, size: number) => void): void {
    let start = this.#first;
    for (let index = 0; index < this.#ends.length; index++) {
      const end = this.#ends[index];
      visit(index, start, end - start);
      start = end;
    }
    if (this.#damage !== undefined) throw this.#damage;
  }
}

/**
 * Reads the lengths of a code section's entries, and little more of it.
 *
 * @param last the offset that is asked for, if what is behind its entry does not matter
 */
export function readFunctionBodies(
  source: ByteSource,
  code: ObjectSection,
  last = Number.POSITIVE_INFINITY,
): FunctionBodies {
  const lengths = new Lengths(source, code);
  let ends = new Uint32Array(0);
  let first = 0;
  let index = 0;
  try {
    const count = lengths.next(0);
    first = lengths.position;
    ends = new Uint32Array(Math.min(count, Math.ceil(code.size / SHORTEST_ENTRY)));
    for (let at = first; index < count && at <= last; index++) {
      const size = lengths.next(at);
      const end = lengths.position + size;
      if (end > code.size) throw new FormatError("truncated", at, "code section", `${size} bytes do not fit`);
      ends[index] = end;
      at = end;
    }
    return new FunctionBodies(first, ends.subarray(0, index), undefined);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return new FunctionBodies(first, ends.subarray(0, index), error);
  }
}

/** LEB128 numbers of the code section, read through a window that moves forward. */
class Lengths {
  /** Behind what was read last. */
  position = 0;
  readonly #source: ByteSource;
  readonly #code: ObjectSection;
  readonly #buffer: Uint8Array;
  #bytes: Uint8Array = new Uint8Array(0);
  #base = 0;

  constructor(source: ByteSource, code: ObjectSection) {
    this.#source = source;
    this.#code = code;
    this.#buffer = new Uint8Array(source.readInto === undefined ? 0 : Math.min(WINDOW_BYTES, code.size));
  }

  next(at: number): number {
    let inWindow = at - this.#base;
    if (inWindow + LONGEST_LEB > this.#bytes.length) {
      this.#bytes = this.#read(at);
      this.#base = at;
      inWindow = 0;
    }
    const bytes = this.#bytes;
    const byte = bytes[inWindow];
    if (byte < 0x80) {
      this.position = at + 1;
      return byte;
    }
    const second = bytes[inWindow + 1];
    // As most are.
    if (second < 0x80) {
      this.position = at + 2;
      return (byte & 0x7f) | (second << 7);
    }
    this.position = this.#base + skipLeb32(bytes, inWindow);
    return readU32Leb(bytes, inWindow);
  }

  #read(at: number): Uint8Array {
    const { offset, size } = this.#code;
    const length = Math.min(WINDOW_BYTES, size - at);
    return this.#source.readInto === undefined
      ? this.#source.read(offset + at, length)
      : this.#source.readInto(offset + at, this.#buffer.subarray(0, length));
  }
}
