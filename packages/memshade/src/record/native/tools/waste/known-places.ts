import { decode, INSTRUCTION_POINTER, Instruction } from "../../../../code/x64/decode/index.ts";
import type { Register } from "../../../../code/x64/index.ts";
import type { Code } from "../../rewrite/code.ts";
import type { KnownWords } from "./access-code.ts";

/** Words are reached from a place that is so near, bytes: a displacement of 32 bits has room for it. */
const NEAR = 4096;

/** In a block, the register with the place of the last access's words, for as long as its address is known by the same registers. */
export class KnownPlaces {
  readonly #code: Code;
  readonly #instruction = new Instruction();
  /** Up to which instruction was looked. */
  #seen: number;
  #words: Register | undefined;
  #base = 0;
  #index = 0;
  #scale = 0;
  #displacement = 0;

  /** @param first instruction of the block */
  constructor(code: Code, first: number) {
    this.#code = code;
    this.#seen = first;
  }

  /** What is known in front of an access. To be asked in the order of instructions. */
  at(i: number, { base, index, scale, displacement }: Instruction): KnownWords | undefined {
    for (; this.#seen < i; this.#seen++) this.#forgetWritten(this.#seen);
    const isSame = base === this.#base && index === this.#index && scale === this.#scale;
    if (this.#words === undefined || !isSame) return undefined;
    const { offsets, lengths } = this.#code;
    const distance = absolute(base, displacement, offsets[i] + lengths[i]) - this.#displacement;
    return Math.abs(distance) < NEAR ? { register: this.#words, distance } : undefined;
  }

  /** A register has the place of an access's words, unless they were known before. `next`: the instruction behind it. */
  keep(words: Register | undefined, { base, index, scale, displacement }: Instruction, next: number): void {
    const isKnown = words !== undefined && words === this.#words;
    const isSame = base === this.#base && index === this.#index && scale === this.#scale;
    const to = absolute(base, displacement, next);
    if (isKnown && isSame && Math.abs(to - this.#displacement) < NEAR) return;
    this.#words = words;
    this.#base = base;
    this.#index = index;
    this.#scale = scale;
    this.#displacement = to;
  }

  /** What an instruction overwrites is not known behind it. */
  #forgetWritten(i: number): void {
    if (this.#words === undefined) return;
    decode(this.#code.bytes, this.#code.offsets[i], this.#instruction);
    const bit = (register: number): number =>
      register >= 0 && register < INSTRUCTION_POINTER ? 1 << register : 0;
    const uses = bit(this.#words.number) | bit(this.#base) | bit(this.#index);
    if ((this.#instruction.writes & uses) !== 0) this.#words = undefined;
  }
}

/** A displacement that can be compared with others: relative to the instruction, it is the place in the old code. */
function absolute(base: number, displacement: number, next: number): number {
  return base === INSTRUCTION_POINTER ? next + displacement : displacement;
}
