import { type OperandSize, putInstruction } from "../../../../code/x64/encode.ts";
import { CONDITIONS, type Condition, type Place, place, type Register } from "../../../../code/x64/index.ts";
import type { Operand } from "../../../../code/x64/operands.ts";
import type { InsertedDistance, Insertion } from "../../rewrite/plan.ts";
import { MARK_SHIFT, MARKED_BYTES, MARKS_BIT } from "./layout.ts";

type Part = "bytes" | "cold";

export interface SnippetLabel {
  part: Part;
  /** −1 until the label is bound. */
  at: number;
}

interface OpenJump {
  part: Part;
  at: number;
  bytes: 1 | 4;
  to: SnippetLabel;
}

const [JUMP, SHORT_JUMP, CALL, LEA] = [0xe9, 0xeb, 0xe8, 0x8d];

/** Inserted code for one point: the part that usually runs, and the cold part that rarely does. */
export class Snippet {
  readonly #parts: Record<Part, number[]> = { bytes: [], cold: [] };
  readonly #distances: InsertedDistance[] = [];
  readonly #jumps: OpenJump[] = [];
  #part: Part = "bytes";

  continueIn(part: Part): void {
    this.#part = part;
  }

  label(): SnippetLabel {
    return { part: "bytes", at: -1 };
  }

  bind(label: SnippetLabel): void {
    label.part = this.#part;
    label.at = this.#parts[this.#part].length;
  }

  put(mnemonic: string, size: OperandSize, ...operands: readonly Operand[]): void {
    putInstruction(this.#parts[this.#part], mnemonic, size, operands);
  }

  raw(bytes: readonly number[]): void {
    const part = this.#parts[this.#part];
    for (const byte of bytes) part.push(byte);
  }

  /**
   * Appends an instruction whose operand is relative to itself. `at` is the displacement's offset in `bytes`; `old` is
   * the target's offset in the old code.
   */
  relative(bytes: readonly number[], at: number, old: number): void {
    const from = this.#parts[this.#part].length + at;
    this.#distances.push({ part: this.#part, at: from, tail: bytes.length - at - 4, to: "old", offset: old });
    this.raw(bytes);
  }

  jump(to: SnippetLabel, condition?: Condition): void {
    this.raw(condition === undefined ? [JUMP] : [0x0f, 0x80 | CONDITIONS.indexOf(condition)]);
    this.#open(to, 4);
  }

  /** Jumps to a label of the same part, at most 127 bytes away. */
  shortJump(to: SnippetLabel, condition?: Condition): void {
    this.raw([condition === undefined ? SHORT_JUMP : 0x70 | CONDITIONS.indexOf(condition)]);
    this.#open(to, 1);
  }

  addressOf(to: SnippetLabel, register: Register): void {
    this.raw([0x48 | ((register.number >> 3) << 2), LEA, ((register.number & 7) << 3) | 5]);
    this.#open(to, 4);
  }

  callCommon(offset: number): void {
    this.raw([CALL]);
    const at = this.#parts[this.#part].length;
    this.#distances.push({ part: this.#part, at, tail: 0, to: "common", offset });
    this.raw([0, 0, 0, 0]);
  }

  finish(before: number): Insertion {
    this.#close();
    return { before, bytes: this.#parts.bytes, cold: this.#parts.cold, distances: this.#distances };
  }

  /** Returns the bytes of a one-part snippet that is placed at `offset` of the common code. */
  finishAt(offset: number): number[] {
    this.#close();
    const { bytes } = this.#parts;
    for (const { at, tail, offset: to } of this.#distances)
      patchInt32(bytes, at, to - (offset + at + 4 + tail));
    return bytes;
  }

  /** Resolves jumps within a part. Jumps between the parts are left to the writer of the file. */
  #close(): void {
    for (const { part, at, bytes, to } of this.#jumps) {
      const code = this.#parts[part];
      if (to.part !== part) this.#distances.push({ part, at, tail: 0, to: to.part, offset: to.at });
      else if (bytes === 4) patchInt32(code, at, to.at - (at + 4));
      else code[at] = shortDistance(to.at - (at + 1));
    }
  }

  #open(to: SnippetLabel, bytes: 1 | 4): void {
    const code = this.#parts[this.#part];
    this.#jumps.push({ part: this.#part, at: code.length, bytes, to });
    for (let i = 0; i < bytes; i++) code.push(0);
  }
}

function patchInt32(code: number[], at: number, value: number): void {
  for (let i = 0; i < 4; i++) code[at + i] = (value >> (8 * i)) & 0xff;
}

function shortDistance(distance: number): number {
  if (distance < -128 || distance > 127) throw new RangeError(`a short jump cannot reach ${distance} bytes`);
  return distance & 0xff;
}

type Put = (
  mnemonic: string,
  size: 1 | 2 | 4 | 8,
  ...operands: readonly (Register | Place | number)[]
) => void;

/**
 * Emits code that marks bytes as loaded.
 *
 * @param folded shadow offset of the first byte, which `distance` bytes precede; may be `scratch` itself
 */
export function putMarks(
  put: Put,
  {
    folded,
    distance = 0,
    bytes,
    scratch,
  }: { folded: Register; distance?: number; bytes: number; scratch: Register },
): void {
  put("lea", 8, scratch, place(folded, 2 * distance));
  put("shr", 8, scratch, MARK_SHIFT);
  put("bts", 8, scratch, MARKS_BIT);
  for (const { from, bytes: marks } of pieces(Math.ceil(bytes / MARKED_BYTES)))
    put("mov", marks, place(scratch, from), 0x0101_0101 & (2 ** (8 * marks) - 1));
}

export function pieces(bytes: number): { from: number; bytes: 1 | 2 | 4 }[] {
  const parts: { from: number; bytes: 1 | 2 | 4 }[] = [];
  for (let from = 0; from < bytes; ) {
    const remaining = bytes - from;
    const part = remaining >= 4 ? 4 : remaining >= 2 ? 2 : 1;
    parts.push({ from, bytes: part });
    from += part;
  }
  return parts;
}
