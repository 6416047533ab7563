import { base64, bytesOfBase64 } from "../../bytes/base64.ts";
import { partitionPoint } from "../../bytes/partition-point.ts";

/** Original offset of what stands between marked places. */
const NONE = -1;

/** A place of instrumented code, by its offset in the file, and the offset in the original code section that it stands for. */
export interface CodeMark {
  offset: number;
  /** −1: code from here on is nobody's of the original. */
  original: number;
}

/**
 * Marked places as text for the module's description: differences to the mark before, as LEB128 numbers with the sign in
 * the lowest bit, in base 64.
 */
export function encodeCodeMarks(marks: readonly CodeMark[]): string {
  const bytes: number[] = [];
  let last: CodeMark = { offset: 0, original: NONE };
  for (const mark of marks) {
    writeSigned(bytes, mark.offset - last.offset);
    writeSigned(bytes, mark.original - last.original);
    last = mark;
  }
  return base64(Uint8Array.from(bytes));
}

/** Finds original places by those of instrumented code. */
export class CodeMarks {
  readonly #offsets: number[] = [];
  readonly #originals: number[] = [];

  constructor(encoded: string) {
    const bytes = bytesOfBase64(encoded);
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
      this.#offsets.push(offset);
      this.#originals.push(original);
    }
  }

  /** The original place of the last mark at or before an offset; −1 where that is none of the original. */
  originalOf(offset: number): number {
    const offsets = this.#offsets;
    const behind = partitionPoint(0, offsets.length, (index) => offsets[index] <= offset);
    return behind === 0 ? NONE : this.#originals[behind - 1];
  }
}

function writeSigned(bytes: number[], value: number): void {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  bytes.push(rest);
}
