import { decode, FLOW, Instruction } from "../../../../code/x64/decode/index.ts";
import { RBP, RSP } from "../../../../code/x64/index.ts";
import { type Code, TRAIT } from "../../rewrite/code.ts";
import type { FrameBases } from "../../rewrite/insertion/frame-bases.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import type { FrameEnd } from "./routines/frame-end-routine.ts";

const RSP_BIT = 1 << RSP.number;
const [GROUP, GROUP_BYTE, LEA, LEAVE, MOV_TO, MOV_FROM] = [0x81, 0x83, 0x8d, 0xc9, 0x89, 0x8b];
const [ADD_RSP, SUB_RSP] = [0xc4, 0xec];
const WORD_BYTES = 8;

/** Which instructions end frames, or parts of them: those that raise the stack pointer, but for `pop`, whose words `push` wrote. */
export class FrameEnds {
  readonly #frames: FrameBases;
  readonly #instruction = new Instruction();
  #code: Code | undefined;
  /** The function that was looked at last: its instructions, and how far below its stack pointer it reaches. */
  #first = 0;
  #last = 0;
  #below = 0;
  #belowAtReturn = 0;

  constructor(frames: FrameBases) {
    this.#frames = frames;
  }

  /** What ends in front of an instruction; undefined: nothing. */
  at(code: Code, i: number): FrameEnd | undefined {
    if (code.flows[i] === FLOW.return) {
      this.#look(code, i);
      return this.#belowAtReturn === 0
        ? undefined
        : { below: this.#belowAtReturn, end: 0, byFramePointer: false };
    }
    if ((code.kills[i] & RSP_BIT) === 0 && code.bytes[code.offsets[i]] !== LEAVE) return undefined;
    const end = this.#raised(code, i);
    if (end === undefined) return undefined;
    this.#look(code, i);
    return { ...end, below: this.#below };
  }

  #raised(code: Code, i: number): Omit<FrameEnd, "below"> | undefined {
    const instruction = this.#instruction;
    decode(code.bytes, code.offsets[i], instruction);
    const { opcode, modRmAt, length, base, index, displacement, reads } = instruction;
    if (opcode === LEAVE) return { end: 0, byFramePointer: true };
    if ((instruction.writes & RSP_BIT) === 0) return undefined;
    if (opcode === GROUP || opcode === GROUP_BYTE) {
      const at = code.offsets[i] + modRmAt;
      const view = new DataView(code.bytes.buffer, code.bytes.byteOffset);
      const size = length - modRmAt - 1;
      const value = size === 1 ? view.getInt8(at + 1) : view.getInt32(at + 1, true);
      const end = code.bytes[at] === ADD_RSP ? value : code.bytes[at] === SUB_RSP ? -value : 0;
      return end > 0 ? { end, byFramePointer: false } : undefined;
    }
    if (opcode === LEA && index < 0) {
      if (base === RSP.number)
        return displacement > 0 ? { end: displacement, byFramePointer: false } : undefined;
      if (base === RBP.number && this.#frames.isFrameBase(code, i, base))
        return { end: displacement, byFramePointer: true };
      return undefined;
    }
    if ((opcode === MOV_TO || opcode === MOV_FROM) && (reads & (1 << RBP.number)) !== 0)
      return this.#frames.isFrameBase(code, i, RBP.number) ? { end: 0, byFramePointer: true } : undefined;
    return undefined;
  }

  /** How far below the stack pointer the function of an instruction reaches. */
  #look(code: Code, i: number): void {
    if (this.#code === code && i >= this.#first && i < this.#last) return;
    const { first, last } = code.functions[code.functionAround(code.offsets[i])];
    this.#code = code;
    this.#first = first;
    this.#last = last;
    const one = new Instruction();
    let [below, belowPointer] = [0, 0];
    let isRaised = false;
    for (let at = first; at < last; at++) {
      isRaised ||= (code.kills[at] & RSP_BIT) !== 0 && this.#raised(code, at) !== undefined;
      if ((code.traits[at] & TRAIT.access) === 0) continue;
      decode(code.bytes, code.offsets[at], one);
      if (one.displacement >= 0) continue;
      if (one.base === RSP.number) below = Math.max(below, -one.displacement);
      else if (this.#frames.isFrameBase(code, at, one.base))
        belowPointer = Math.max(belowPointer, -one.displacement + WORD_BYTES);
    }
    this.#below = Math.min(below, RED_ZONE_BYTES);
    // A frame that is addressed by its pointer, and that nothing raises the stack pointer over, lies in the red zone.
    this.#belowAtReturn = Math.min(isRaised ? below : Math.max(below, belowPointer), RED_ZONE_BYTES);
  }
}
