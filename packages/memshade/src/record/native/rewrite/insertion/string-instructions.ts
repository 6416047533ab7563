import { ENCODINGS } from "../../../../code/x64/decode/general-rows.ts";
import {
  IMPLICIT,
  type Instruction,
  NO_REGISTER,
  SEGMENT,
  WRITE,
} from "../../../../code/x64/decode/index.ts";
import { type OperandSize, type Place, RDI, type Register, RSI } from "../../../../code/x64/index.ts";
import type { Operand } from "../../../../code/x64/operands.ts";
import type { Code } from "../code.ts";

/** Prefixes: size, segment, address size, `repne`, `rep`; and REX, of which only W has an effect. */
const PREFIXES = new Set([0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3]);
const REX = 0x40;
/** Opcodes of `movs`, `cmps`, `stos`, `lods`, `scas`. */
const OPCODES = new Set([0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf]);

/** Returns true for instructions that access memory at rsi and rdi. */
export function isStringInstruction({ bytes, offsets, lengths }: Code, i: number): boolean {
  const end = offsets[i] + lengths[i] - 1;
  if (!OPCODES.has(bytes[end])) return false;
  for (let at = offsets[i]; at < end; at++)
    if (!PREFIXES.has(bytes[at]) && (bytes[at] & 0xf0) !== REX) return false;
  return true;
}

/** A register by which a string instruction accesses memory. */
export interface StringOperand {
  register: typeof RSI | typeof RDI;
  isWritten: boolean;
}

const [SOURCE, TARGET] = [
  { register: RSI, isWritten: false },
  { register: RDI, isWritten: false },
];
const WRITTEN = { register: RDI, isWritten: true };
const OPERANDS: Readonly<Record<number, readonly StringOperand[]>> = {
  [IMPLICIT.movs]: [SOURCE, WRITTEN],
  [IMPLICIT.stos]: [WRITTEN],
  [IMPLICIT.lods]: [SOURCE],
  [IMPLICIT.cmps]: [SOURCE, TARGET],
  [IMPLICIT.scas]: [TARGET],
};

/** Returns the operands of a string instruction, without a source in thread-local storage. */
export function stringOperands({ implicit, segment }: Instruction): readonly StringOperand[] {
  const operands = OPERANDS[implicit] ?? [];
  return segment === SEGMENT.none ? operands : operands.filter((operand) => operand !== SOURCE);
}

export function elementBytes({ opcode, operandSize }: Instruction): number {
  return (opcode & 1) === 0 ? 1 : operandSize;
}

export interface ReachedBy {
  elementBytes: number;
  shortAddress: boolean;
  /** Value of the register before the instruction. */
  before: Place;
  /** Input: value after the instruction. Output: number of reached bytes, maybe 0. */
  bytes: Register;
  /** Output: lowest address of these bytes, in either direction. */
  start: Register;
  /** Overwritten, like the flags. */
  scratch: Register;
}

/**
 * Writes code after a string instruction that computes the memory it has reached by a register. The count
 * before the instruction is only an upper limit: comparisons end earlier, and `scas` has the count −1 when it
 * searches the end of a string.
 */
export function putReached(
  put: (mnemonic: string, size: OperandSize, ...operands: readonly Operand[]) => void,
  { elementBytes, shortAddress, before, bytes, start, scratch }: ReachedBy,
): void {
  const size = shortAddress ? 4 : 8;
  put("mov", size, start, before);
  put("sub", size, bytes, start);
  if (shortAddress) put("movsxd", 8, bytes, bytes);
  // All ones if the direction was backwards.
  put("mov", 8, scratch, bytes);
  put("sar", 8, scratch, 63);
  put("xor", 8, bytes, scratch);
  put("sub", 8, bytes, scratch);
  // Backwards, the register ends below the lowest element.
  put("neg", 8, bytes);
  put("add", 8, bytes, elementBytes);
  put("and", 8, scratch, bytes);
  put("add", 8, start, scratch);
  put("neg", 8, bytes);
  put("add", 8, bytes, elementBytes);
}

/** Adds the implicit operand at rdi to `maskmovdqu` and similar instructions. */
export function giveMaskedMovePlace(instruction: Instruction): void {
  if (instruction.implicit !== IMPLICIT.maskmov) return;
  const isHalf = instruction.encoding === ENCODINGS.L && instruction.operandSize !== 2;
  instruction.access = WRITE;
  instruction.base = RDI.number;
  instruction.index = NO_REGISTER;
  instruction.displacement = 0;
  instruction.size = isHalf ? 8 : 16;
}
