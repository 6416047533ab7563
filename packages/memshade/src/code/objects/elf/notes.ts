import { viewOf } from "../../../ground/bytes/numbers.ts";

export interface ElfNote {
  /** Owner without the closing NUL: `GNU`, `CORE`, `LINUX`, … */
  readonly owner: string;
  readonly type: number;
  readonly content: Uint8Array;
  /** Offset of the descriptor in the input. */
  readonly offset: number;
}

const HEADER_BYTES = 12;

/**
 * Yields the notes in a piece of the file, up to the first that does not fit. Name and descriptor are padded to
 * four bytes, in 64-bit files too. Property notes may be padded differently, but have no reader here.
 */
export function* readNotes(bytes: Uint8Array): Generator<ElfNote> {
  const view = viewOf(bytes);
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const nameSize = view.getUint32(at, true);
    const contentSize = view.getUint32(at + 4, true);
    const nameStart = at + HEADER_BYTES;
    const offset = nameStart + padded(nameSize);
    if (offset + contentSize > bytes.length) return;
    yield {
      owner: latin1(bytes.subarray(nameStart, nameStart + nameSize)).replace(/\0+$/, ""),
      type: view.getUint32(at + 8, true),
      content: bytes.subarray(offset, offset + contentSize),
      offset,
    };
    at = offset + padded(contentSize);
  }
}

function padded(size: number): number {
  return Math.ceil(size / 4) * 4;
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 64), (byte) => String.fromCharCode(byte)).join("");
}
