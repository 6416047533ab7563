import { FormatError } from "../../../ground/bytes/errors.ts";
import { readU32Leb, sizeOfU32Leb } from "../../../ground/bytes/leb128.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { Code } from "./code.ts";
import type { ColdStretch, NewText } from "./emit.ts";

const MAGIC = 0x5250_4d4e;
/** Magic, number of functions, then two 8-byte addresses (SVMA): new code, and base of old offsets. */
const HEAD_BYTES = 24;
/** Most bytes of an instruction, or of an entry that combines several. */
const MOST_OLD_BYTES = 0xff;
/** Start in the new code, start in the old code, and offset of its instructions. */
const FUNCTION_BYTES = 12;
const WHAT = "file of origins";

/**
 * Writes the origins of new code: per function its starts, per instruction its bytes in the old and in the
 * new code, in LEB128, with insertions before it. The cold parts of all functions follow.
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

/** Writes instructions with cold parts, and the old code between them with 0 new bytes. */
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

/** Maps addresses of new code to the old code. */
export class Origins {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #count: number;
  readonly #textAddress: number;
  readonly #base: number;

  /** @throws FormatError if the bytes are no such file */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    if (bytes.length < HEAD_BYTES || this.#view.getUint32(0, true) !== MAGIC)
      throw new FormatError("malformed", 0, WHAT, "it does not begin as one");
    this.#count = this.#view.getUint32(4, true);
    this.#textAddress = this.#view.getFloat64(8, true);
    this.#base = this.#view.getFloat64(16, true);
    if (HEAD_BYTES + FUNCTION_BYTES * this.#count > bytes.length)
      throw new FormatError("truncated", bytes.length, WHAT, "its functions are missing");
  }

  get start(): number {
    return this.#textAddress;
  }

  /**
   * Returns the address (SVMA) of the old instruction for an address of its new code or of an insertion
   * before it. The last byte of an instruction maps to its last byte, so the address before a return address
   * stays one. Other addresses are returned unchanged.
   */
  originOf(address: number): number {
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
