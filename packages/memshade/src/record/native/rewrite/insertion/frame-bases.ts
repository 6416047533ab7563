import { decode, Instruction } from "../../../../code/x64/decode/index.ts";
import { RBP, RSP } from "../../../../code/x64/index.ts";
import type { Code } from "../code.ts";

const RBP_BIT = 1 << RBP.number;
const RSP_BIT = 1 << RSP.number;
/** Opcodes of `mov` between registers, in both directions, `lea`, `leave`, and `pop` of rbp. */
const [MOV_TO, MOV_FROM, LEA, LEAVE, POP_RBP] = [0x89, 0x8b, 0x8d, 0xc9, 0x5d];

/** Distinguishes functions with a frame pointer in rbp from functions that use rbp as a general register. */
export class FrameBases {
  readonly #instruction = new Instruction();
  #code: Code | undefined;
  /** Instructions and result of the last function. */
  #first = 0;
  #last = 0;
  #isFrame = false;

  isFrameBase(code: Code, i: number, register: number): boolean {
    if (register !== RBP.number) return false;
    if (this.#code !== code || i < this.#first || i >= this.#last) this.#analyze(code, i);
    return this.#isFrame;
  }

  /** Checks that rbp is only set from rsp, plus a constant, or restored. */
  #analyze(code: Code, i: number): void {
    const { first, last } = code.functions[code.functionAround(code.offsets[i])];
    this.#code = code;
    this.#first = first;
    this.#last = last;
    this.#isFrame = false;
    for (let at = first; at < last; at++) {
      if (((code.kills[at] | code.reads[at]) & RBP_BIT) === 0) continue;
      decode(code.bytes, code.offsets[at], this.#instruction);
      const { writes, reads, opcode, base, index } = this.#instruction;
      if ((writes & RBP_BIT) === 0 || opcode === LEAVE || opcode === POP_RBP) continue;
      const isMove = (opcode === MOV_TO || opcode === MOV_FROM) && (reads & RSP_BIT) !== 0;
      const isSum = opcode === LEA && base === RSP.number && index < 0;
      if (!isMove && !isSum) {
        this.#isFrame = false;
        return;
      }
      this.#isFrame = true;
    }
  }
}
