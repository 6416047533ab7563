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

/** Of size, of segments and of addresses, `repne` and `rep`; and REX, of which only the bit for 8 bytes says something. */
const PREFIXES = new Set([0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3]);
const REX = 0x40;
/** `movs`, `cmps`, `stos`, `lods`, `scas`. */
const OPCODES = new Set([0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf]);

/** Whether an instruction is one that reaches what rsi and rdi point to. */
export function isStringInstruction({ bytes, offsets, lengths }: Code, i: number): boolean {
  const end = offsets[i] + lengths[i] - 1;
  if (!OPCODES.has(bytes[end])) return false;
  for (let at = offsets[i]; at < end; at++)
    if (!PREFIXES.has(bytes[at]) && (bytes[at] & 0xf0) !== REX) return false;
  return true;
}

/** A register by which a string instruction reaches memory, and what it does there. */
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

/** What a string instruction reaches, but for a source among the data of threads. */
export function stringOperands({ implicit, segment }: Instruction): readonly StringOperand[] {
  const all = OPERANDS[implicit] ?? [];
  return segment === SEGMENT.none ? all : all.filter((one) => one !== SOURCE);
}

export function elementBytes({ opcode, operandSize }: Instruction): number {
  return (opcode & 1) === 0 ? 1 : operandSize;
}

/** Where code of what a string instruction has reached finds its values. */
export interface ReachedBy {
  elementBytes: number;
  shortAddress: boolean;
  /** What the register was in front of the instruction. */
  before: Place;
  /** Has what it is behind it; gets how many bytes were reached, 0 included. */
  bytes: Register;
  /** Gets where these begin, in whichever direction the instruction went. */
  start: Register;
  /** Is overwritten, as the flags are. */
  scratch: Register;
}

/**
 * Code behind a string instruction: what one of its registers has reached. A count in front of it is an upper limit only, which nothing may be
 * done by: comparisons end sooner, and `scas` begins with −1 where it looks for the end of a string.
 */
export function putReached(
  put: (mnemonic: string, size: OperandSize, ...operands: readonly Operand[]) => void,
  { elementBytes, shortAddress, before, bytes, start, scratch }: ReachedBy,
): void {
  const size = shortAddress ? 4 : 8;
  put("mov", size, start, before);
  put("sub", size, bytes, start);
  if (shortAddress) put("movsxd", 8, bytes, bytes);
  // All ones, if it went backwards.
  put("mov", 8, scratch, bytes);
  put("sar", 8, scratch, 63);
  put("xor", 8, bytes, scratch);
  put("sub", 8, bytes, scratch);
  // Backwards it ended in front of the first byte of all.
  put("neg", 8, bytes);
  put("add", 8, bytes, elementBytes);
  put("and", 8, scratch, bytes);
  put("add", 8, start, scratch);
  put("neg", 8, bytes);
  put("add", 8, bytes, elementBytes);
}

/** `maskmovdqu` and its like write to where rdi points, which none of their operands says: they become instructions with such an operand. */
export function giveMaskedMovePlace(instruction: Instruction): void {
  if (instruction.implicit !== IMPLICIT.maskmov) return;
  const isHalf = instruction.encoding === ENCODINGS.L && instruction.operandSize !== 2;
  instruction.access = WRITE;
  instruction.base = RDI.number;
  instruction.index = NO_REGISTER;
  instruction.displacement = 0;
  instruction.size = isHalf ? 8 : 16;
}
