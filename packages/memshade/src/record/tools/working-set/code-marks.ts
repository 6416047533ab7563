import { base64Of, bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { writeU32Leb } from "../../../ground/bytes/leb128.ts";
import type { CodePlaces } from "../../rewrite/write/function-writer.ts";

/** Original offset of code between marked positions. */
const NONE = -1;
const LONGEST_MARK = 10;

/**
 * Encodes marked positions for the module's description: differences to the previous mark, as LEB128 numbers with the
 * sign in the lowest bit, in base 64.
 */
export function encodeCodeMarks({ offsets, originals }: CodePlaces): string {
  const bytes = new Uint8Array(offsets.length * LONGEST_MARK);
  let end = 0;
  for (let i = 0; i < offsets.length; i++) {
    end = writeSigned(bytes, end, offsets[i] - (offsets[i - 1] ?? 0));
    end = writeSigned(bytes, end, originals[i] - (originals[i - 1] ?? NONE));
  }
  return base64Of(bytes.subarray(0, end));
}

/** Maps positions of instrumented code to original ones. */
export class CodeMarks {
  readonly #offsets: Int32Array;
  readonly #originals: Int32Array;
  #count = 0;

  constructor(encoded: string) {
    const bytes = bytesOfBase64(encoded);
    this.#offsets = new Int32Array(bytes.length >>> 1);
    this.#originals = new Int32Array(bytes.length >>> 1);
    let at = 0;
    const next = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++];
        value |= (byte & 127) << shift;
        if (byte < 128) return (value >>> 1) ^ -(value & 1);
      }
    };
    for (let offset = 0, original = NONE; at < bytes.length; ) {
      offset += next();
      original += next();
      this.#offsets[this.#count] = offset;
      this.#originals[this.#count++] = original;
    }
  }

  /**
   * Returns the original position of the last mark at or before an offset; −1 if the code there is not of the original.
   */
  originalOf(offset: number): number {
    const offsets = this.#offsets;
    const end = partitionPoint(0, this.#count, (index) => offsets[index] <= offset);
    return end === 0 ? NONE : this.#originals[end - 1];
  }
}

function writeSigned(bytes: Uint8Array, at: number, value: number): number {
  return writeU32Leb(bytes, at, ((value << 1) ^ (value >> 31)) >>> 0);
}
