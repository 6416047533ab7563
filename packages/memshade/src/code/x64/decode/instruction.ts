import { FLOW, IMPLICIT } from "./rows.ts";

/** No register, as `base` or `index` of a place. */
export const NO_REGISTER = -1;
/** The address of the next instruction, as `base` of a place. */
export const INSTRUCTION_POINTER = 16;

/** Segments whose base is not 0. */
export const SEGMENT = { none: 0, fs: 1, gs: 2 } as const;

/**
 * One machine instruction. One object is filled again and again. Masks of registers: bit 0 to 15 general registers, then
 * `CARRY` and `OTHER_FLAGS`.
 */
export class Instruction {
  /** bytes */
  length = 0;
  /** map << 8 | last byte of the opcode; maps: 0, 1: 0F, 2: 0F 38, 3: 0F 3A */
  opcode = 0;
  /** a value of `ENCODINGS`: L legacy, V VEX, E EVEX, X XOP */
  encoding = 0;
  /** a value of `FLOW` */
  flow: number = FLOW.next;
  /** of jumps and calls: bytes from the next instruction to the target */
  distance = 0;
  /** registers that are read, written, and written without anything left of what they held */
  reads = 0;
  writes = 0;
  kills = 0;
  /** operand size in bytes: 1 where the opcode says so is not told from 4 */
  operandSize = 4;
  /** REP, REPE or REPNE is in front */
  repeated = false;
  locked = false;
  /** a value of `IMPLICIT` */
  implicit: number = IMPLICIT.none;

  /** bits `READ`, `WRITE`, `ADDRESS_ONLY`; 0: no operand is a place */
  access = 0;
  /** bytes of that place; of a vector of indices, one element; 0: not one of the fixed sizes */
  size = 0;
  base = NO_REGISTER;
  index = NO_REGISTER;
  /** 1, 2, 4 or 8 */
  scale = 1;
  /** as a number of 32 bits; whole addresses of `mov` with rax can be larger, and inexact above 2^53 */
  displacement = 0;
  /** a value of `SEGMENT` */
  segment: number = SEGMENT.none;
  /** addresses have 32 bits */
  shortAddress = false;
  /** `index` is a vector register */
  vectorIndex = false;
  /** where in the instruction ModRM stands; 0: nowhere */
  modRmAt = 0;
  /** where in the instruction a displacement of four bytes stands; 0: nowhere */
  displacementAt = 0;
}
