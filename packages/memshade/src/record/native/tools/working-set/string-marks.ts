import type { Instruction } from "../../../../code/x64/decode/index.ts";
import { putInstruction } from "../../../../code/x64/encode.ts";
import { place, RAX, RCX, RDX, type Register, RSP } from "../../../../code/x64/index.ts";
import { int32, type Operand } from "../../../../code/x64/operands.ts";
import {
  LEAVE_RED_ZONE,
  pushBytes,
  RED_ZONE_BYTES,
  SKIP_RED_ZONE,
} from "../../rewrite/insertion/red-zone.ts";
import {
  elementBytes,
  putReached,
  type StringOperand,
  stringOperands,
} from "../../rewrite/insertion/string-instructions.ts";
import type { Insertion } from "../../rewrite/plan.ts";
import { LINE_SHIFT, MARK_BYTES, MARKS, READ_MARK, WRITTEN_MARK } from "./layout.ts";

const [PUSH_FLAGS, POP_FLAGS] = [0x9c, 0x9d];
const [PUSH_RAX, PUSH_RCX, PUSH_RDX, POP_RAX, POP_RCX, POP_RDX] = [0x50, 0x51, 0x52, 0x58, 0x59, 0x5a];
const SAVE = [PUSH_FLAGS, PUSH_RAX, PUSH_RCX, PUSH_RDX];
const RESTORE = [POP_RDX, POP_RCX, POP_RAX, POP_FLAGS];
const WORD_BYTES = 8;
const [EQUAL, NOT_ABOVE] = [0x74, 0x76];

/** Marks the lines of what a string instruction reaches. How much that is, is known behind one that repeats. */
export function markStrings(instruction: Instruction, i: number): Insertion[] {
  const operands = stringOperands(instruction);
  if (operands.length === 0) return [];
  if (!instruction.repeated) {
    const marks = operands.flatMap((one) => markFirst(one, instruction));
    return [{ before: i, bytes: [...SKIP_RED_ZONE, ...SAVE, ...marks, ...RESTORE, ...LEAVE_RED_ZONE] }];
  }
  const kept = WORD_BYTES * operands.length;
  const marks = operands.flatMap((one, at) =>
    markReached(one, instruction, WORD_BYTES * SAVE.length + kept - WORD_BYTES * (at + 1)),
  );
  const back = [0x48, 0x8d, 0xa4, 0x24, ...int32(RED_ZONE_BYTES + kept)];
  return [
    {
      before: i,
      where: "last",
      bytes: [...SKIP_RED_ZONE, ...operands.flatMap(({ register }) => pushBytes(register.number))],
    },
    { before: i, where: "behind", bytes: [...SAVE, ...marks, ...RESTORE, ...back] },
  ];
}

/** Compilers align what is not longer than a word, as everywhere. */
function markFirst({ register, isWritten }: StringOperand, { shortAddress }: Instruction): number[] {
  return assembled((put) => {
    put("mov", shortAddress ? 4 : 8, RAX, register);
    put("shr", 8, RAX, LINE_SHIFT);
    put("mov", 1, markOf(RAX, isWritten), 1);
  });
}

/** From the line of the first byte to that of the last one. @param keptAt where the stack has what the register was in front of it */
function markReached(
  { register, isWritten }: StringOperand,
  instruction: Instruction,
  keptAt: number,
): number[] {
  const reached = assembled((put) => {
    put("mov", 8, RCX, register);
    putReached(put, {
      elementBytes: elementBytes(instruction),
      shortAddress: instruction.shortAddress,
      before: place(RSP, keptAt),
      bytes: RCX,
      start: RAX,
      scratch: RDX,
    });
    put("test", 8, RCX, RCX);
  });
  const lines = assembled((put) => {
    put("lea", 8, RCX, place(RAX, -1, RCX));
    put("shr", 8, RAX, LINE_SHIFT);
    put("shr", 8, RCX, LINE_SHIFT);
  });
  const turn = assembled((put) => {
    put("mov", 1, markOf(RAX, isWritten), 1);
    put("add", 8, RAX, 1);
    put("cmp", 8, RAX, RCX);
  });
  const marked = [...lines, ...turn, NOT_ABOVE, -(turn.length + 2) & 0xff];
  return [...reached, EQUAL, marked.length, ...marked];
}

function markOf(line: Register, isWritten: boolean) {
  return place(undefined, MARKS + (isWritten ? WRITTEN_MARK : READ_MARK), line, MARK_BYTES);
}

type Put = (mnemonic: string, size: 1 | 2 | 4 | 8, ...operands: readonly Operand[]) => void;

function assembled(write: (put: Put) => void): number[] {
  const code: number[] = [];
  write((mnemonic, size, ...operands) => putInstruction(code, mnemonic, size, operands));
  return code;
}
