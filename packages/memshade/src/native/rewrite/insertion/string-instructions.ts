import { IMPLICIT, type Instruction, NO_REGISTER, WRITE } from "../../../x64/decode/index.ts";
import { ENCODINGS } from "../../../x64/decode/row-table.ts";
import { RDI } from "../../../x64/index.ts";
import type { Code } from "../code.ts";

const PREFIXES = new Set([0x66, 0xf2, 0xf3, 0x48, 0x67]);
/** `movs`, `cmps`, `stos`, `lods`, `scas`. */
const OPCODES = new Set([0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf]);

/** Whether an instruction is one that reaches what rsi and rdi point to. */
export function isStringInstruction({ bytes, offsets, lengths }: Code, i: number): boolean {
  const length = lengths[i];
  const start = offsets[i];
  if (length > 5 || !OPCODES.has(bytes[start + length - 1])) return false;
  for (let at = start; at < start + length - 1; at++) if (!PREFIXES.has(bytes[at])) return false;
  return true;
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
