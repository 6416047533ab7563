import type { Instruction } from "../../../../code/x64/decode/index.ts";
import { putInstruction } from "../../../../code/x64/encode.ts";
import { place, RAX, RCX, RDI, RSP } from "../../../../code/x64/index.ts";
import { int32 } from "../../../../code/x64/operands.ts";
import { COUNTERS, GRANULE_SHIFT, WRITES, WRITES_BIT } from "../../layout.ts";
import { pushBytes, RED_ZONE_BYTES, SKIP_RED_ZONE } from "../../rewrite/insertion/red-zone.ts";
import { GIVE_FLAGS, TAKE_FLAGS } from "../../rewrite/insertion/saved-flags.ts";
import {
  elementBytes,
  putReached,
  type StringOperand,
  stringOperands,
} from "../../rewrite/insertion/string-instructions.ts";

const [PUSH_RAX, PUSH_RCX, PUSH_RDI, POP_RAX, POP_RCX, POP_RDI] = [0x50, 0x51, 0x57, 0x58, 0x59, 0x5f];
const SAVE = [PUSH_RAX, ...TAKE_FLAGS, PUSH_RAX, PUSH_RCX, PUSH_RDI];
const RESTORE = [POP_RDI, POP_RCX, POP_RAX, ...GIVE_FLAGS, POP_RAX];
/** What `SAVE` takes, and where rdi is in it, bytes. */
const SAVED_BYTES = 32;
const SAVED_RDI = 0;
const WORD_BYTES = 8;
const [EQUAL, BELOW] = [0x74, 0x72];

/** Code that runs unless a condition holds. */
function unless(condition: number, code: readonly number[]): number[] {
  return [condition, code.length, ...code];
}

/** Adds an access for every 8 bytes of what begins at rdi: rcx bytes. Overwrites rax, rcx, rdi and flags. */
function countRange(isWritten: boolean): number[] {
  const counter = [0xbd, ...int32(isWritten ? WRITES : COUNTERS)];
  const two = [0x48, 0x01, 0x04, ...counter];
  const one = [0x01, 0x04, ...counter];
  const body = [...two, 0x48, 0x83, 0xc7, 2];
  // sub $2, rcx; jb; two counters at once; jmp back
  const turn = 4 + 2 + body.length + 2;
  return [
    // add $7, rcx; shr $3, rcx; shr $3, rdi
    0x48,
    0x83,
    0xc1,
    7,
    0x48,
    0xc1,
    0xe9,
    3,
    0x48,
    0xc1,
    0xef,
    GRANULE_SHIFT,
    // btc $WRITES_BIT, rdi
    ...(isWritten ? [0x48, 0x0f, 0xba, 0xff, WRITES_BIT] : []),
    // movabs $1 in both halves, rax
    0x48,
    0xb8,
    ...int32(1),
    ...int32(1),
    0x48,
    0x83,
    0xe9,
    2,
    ...unless(BELOW, [...body, 0xeb, -turn & 0xff]),
    // test $1, cl; jz: one is left
    0xf6,
    0xc1,
    1,
    ...unless(EQUAL, one),
  ];
}

/** In front of a string instruction that repeats, and behind it: what it has reached is known there. Meanwhile the stack pointer is lower. */
export function stringBytes(instruction: Instruction): { before: number[]; behind: number[] } {
  const operands = stringOperands(instruction);
  const count = ({ register, isWritten }: StringOperand, i: number): number[] => {
    const code: number[] = [];
    // The first one's count overwrites rdi.
    putInstruction(code, "mov", 8, [RCX, register === RDI ? place(RSP, SAVED_RDI) : register]);
    putReached((mnemonic, size, ...all) => putInstruction(code, mnemonic, size, all), {
      elementBytes: elementBytes(instruction),
      shortAddress: instruction.shortAddress,
      before: place(RSP, SAVED_BYTES + WORD_BYTES * (operands.length - 1 - i)),
      bytes: RCX,
      start: RDI,
      scratch: RAX,
    });
    return [...code, ...countRange(isWritten)];
  };
  const moved = RED_ZONE_BYTES + WORD_BYTES * operands.length;
  const before = [...SKIP_RED_ZONE, ...operands.flatMap(({ register }) => pushBytes(register.number))];
  const behind = [...SAVE, ...operands.flatMap(count), ...RESTORE];
  return { before, behind: [...behind, 0x48, 0x8d, 0xa4, 0x24, ...int32(moved)] };
}
