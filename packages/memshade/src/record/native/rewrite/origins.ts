import { FormatError } from "../../../ground/bytes/errors.ts";
import { readU32Leb, sizeOfU32Leb } from "../../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { Code } from "./code.ts";
import type { ColdStretch, NewText } from "./emit.ts";

const MAGIC = 0x5250_4d4e;
/** magic, functions, addresses (SVMA) of the new code and of what old offsets count from, 8 bytes each */
const HEAD_BYTES = 24;
/** Bytes that one instruction, or what stands for several, has at most. */
const MOST_OLD_BYTES = 0xff;
/** Where it begins in the new code and in the old one, and where its instructions begin behind the functions. */
const FUNCTION_BYTES = 12;
const WHAT = "file of origins";

/**
 * What new code was made of: per function its places, per instruction how many bytes the old one has and the new one, in LEB128, with
 * what is inserted in front of it. Behind all functions, the same of their cold parts.
 */
export function writeOrigins(code: Code, text: NewText, textAddress: number): Uint8Array {
  const { functions, lengths } = code;
  const cold = text.cold.ofFunctions(code);
  const stretches = functions.length + cold.size;
  const head = new DataView(new ArrayBuffer(HEAD_BYTES + FUNCTION_BYTES * stretches));
  head.setUint32(0, MAGIC, true);
  head.setUint32(4, stretches, true);
  head.setFloat64(8, textAddress, true);
  head.setFloat64(16, code.base, true);
  const instructions = new ByteWriter(3 * code.count);
  let at = HEAD_BYTES;
  const begin = (place: number, old: number): void => {
    head.setUint32(at, place, true);
    head.setUint32(at + 4, old, true);
    head.setUint32(at + 8, instructions.length, true);
    at += FUNCTION_BYTES;
  };
  for (const [f, { start, first, last }] of functions.entries()) {
    begin(text.starts[f], start);
    for (let i = first; i < last; i++) {
      const end = i + 1 < last ? text.offsets[i + 1] : text.instructionEnds[f];
      instructions.u8(lengths[i]).u32Leb(end - text.offsets[i]);
    }
  }
  for (const [f, stretch] of cold) {
    begin(stretch.start, functions[f].start);
    writeColdOrigins(instructions, stretch, code, functions[f].start);
  }
  const bytes = new Uint8Array(head.byteLength + instructions.length);
  bytes.set(new Uint8Array(head.buffer));
  bytes.set(instructions.view(), head.byteLength);
  return bytes;
}

/** Instructions with cold parts, and old code between them, of which there is nothing there. */
function writeColdOrigins(
  out: ByteWriter,
  stretch: ColdStretch,
  { offsets, lengths }: Code,
  start: number,
): void {
  let old = start;
  let part = stretch.first;
  while (part < stretch.last) {
    const i = stretch.parts.instruction(part);
    const from = stretch.parts.place(part);
    while (part < stretch.last && stretch.parts.instruction(part) === i) part++;
    for (; old < offsets[i]; old += Math.min(offsets[i] - old, MOST_OLD_BYTES))
      out.u8(Math.min(offsets[i] - old, MOST_OLD_BYTES)).u32Leb(0);
    out.u8(lengths[i]).u32Leb(stretch.parts.place(part) - from);
    old += lengths[i];
  }
}

/** From an address of new code back to the old one. */
export class Origins {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #count: number;
  readonly #textAddress: number;
  readonly #base: number;

  /** @throws FormatError if these are no origins */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < HEAD_BYTES || this.#view.getUint32(0, true) !== MAGIC)
      throw new FormatError("malformed", 0, WHAT, "it does not begin as one");
    this.#count = this.#view.getUint32(4, true);
    this.#textAddress = this.#view.getFloat64(8, true);
    this.#base = this.#view.getFloat64(16, true);
    if (HEAD_BYTES + FUNCTION_BYTES * this.#count > bytes.length)
      throw new FormatError("truncated", bytes.length, WHAT, "its functions are missing");
  }

  /** Address (SVMA) of the new code. */
  get start(): number {
    return this.#textAddress;
  }

  /**
   * The address (SVMA) of the instruction that the one at an address was made for, or that this one was inserted for; of the last byte of an
   * instruction, the last byte. So the address in front of the one that a call returns to stays that. What is no new code stays as it is.
   */
  of(address: number): number {
    const offset = address - this.#textAddress;
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#field(middle, 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? address : (this.#inFunction(low - 1, offset) ?? address);
  }

  #inFunction(f: number, offset: number): number | undefined {
    const instructions = HEAD_BYTES + FUNCTION_BYTES * this.#count;
    const end = f + 1 < this.#count ? instructions + this.#field(f + 1, 8) : this.#bytes.length;
    let at = instructions + this.#field(f, 8);
    let next = this.#field(f, 0);
    let old = this.#base + this.#field(f, 4);
    while (at < end) {
      const oldBytes = this.#bytes[at];
      const bytes = readU32Leb(this.#bytes, at + 1);
      next += bytes;
      if (offset < next) return offset === next - 1 ? old + oldBytes - 1 : old;
      old += oldBytes;
      at += 1 + sizeOfU32Leb(bytes);
    }
    return undefined;
  }

  #field(f: number, field: number): number {
    return this.#view.getUint32(HEAD_BYTES + FUNCTION_BYTES * f + field, true);
  }
}
