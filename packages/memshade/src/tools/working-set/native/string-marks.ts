import { LEAVE_RED_ZONE, SKIP_RED_ZONE } from "../../../native/rewrite/insertion/red-zone.ts";
import { IMPLICIT, type Instruction } from "../../../x64/decode/index.ts";
import { int32 } from "../../../x64/operands.ts";
import { LINE_SHIFT, MARKS, READ_MARK, WRITTEN_MARK } from "./layout.ts";

const [PUSH_FLAGS, POP_FLAGS] = [0x9c, 0x9d];
const [PUSH_RAX, POP_RAX, PUSH_RCX, POP_RCX] = [0x50, 0x58, 0x51, 0x59];
const [RSI, RDI] = [6, 7];

/**
 * In front of a string instruction: marks the lines of what rsi and rdi point to, as many elements as rcx says. What is gone through
 * backwards, and what is compared, is marked where it begins only.
 */
export function markStrings({ implicit, repeated, operandSize, opcode }: Instruction): number[] {
  const bytes = (opcode & 1) === 0 ? 1 : operandSize;
  const isCompared = implicit === IMPLICIT.cmps || implicit === IMPLICIT.scas;
  const writes = implicit === IMPLICIT.movs || implicit === IMPLICIT.stos;
  const ranges = [
    ...(implicit === IMPLICIT.stos || implicit === IMPLICIT.scas ? [] : [[RSI, READ_MARK]]),
    ...(implicit === IMPLICIT.lods ? [] : [[RDI, writes ? WRITTEN_MARK : READ_MARK]]),
  ];
  const code = ranges.flatMap(([register, mark]) =>
    repeated && !isCompared ? markRange(register, mark, bytes) : markFirst(register, mark),
  );
  return [
    ...[...SKIP_RED_ZONE, PUSH_FLAGS, PUSH_RAX, PUSH_RCX],
    ...(repeated ? unlessNone(code) : code),
    ...[POP_RCX, POP_RAX, POP_FLAGS, ...LEAVE_RED_ZONE],
  ];
}

/** `test rcx, rcx`, and a jump over the code. */
function unlessNone(code: readonly number[]): number[] {
  return [0x48, 0x85, 0xc9, 0x74, code.length, ...code];
}

/** `mov register, rax; shr $6, rax; movb $1, marks(, rax, 2)` */
function markFirst(register: number, mark: number): number[] {
  return [...[0x48, 0x89, 0xc0 | (register << 3)], ...lineOf(0), ...setMark(mark)];
}

/** From the line of the first byte to that of the last one, which is in rcx while it runs; forwards alone. */
function markRange(register: number, mark: number, bytes: number): number[] {
  const first = [0x48, 0x89, 0xc0 | (register << 3), ...lineOf(0)];
  // lea -1(register, rcx, bytes), rcx; shr $6, rcx
  const last = [0x48, 0x8d, 0x4c, (Math.log2(bytes) << 6) | (1 << 3) | register, 0xff, ...lineOf(1)];
  // testb $4, 17(%rsp): the direction among the flags; one turn then. cmove rax, rcx would need the opposite: jz over a move.
  const backwards = [0xf6, 0x44, 0x24, 17, 4, 0x74, 3, 0x48, 0x89, 0xc1];
  // inc rax; cmp rcx, rax; jbe
  const turn = [...setMark(mark), 0x48, 0xff, 0xc0, 0x48, 0x39, 0xc8];
  const restored = [0x48, 0x8b, 0x0c, 0x24];
  return [...first, ...last, ...backwards, ...turn, 0x76, -(turn.length + 2) & 0xff, ...restored];
}

/** `shr $6` of rax or rcx. */
function lineOf(register: number): number[] {
  return [0x48, 0xc1, 0xe8 | register, LINE_SHIFT];
}

function setMark(mark: number): number[] {
  return [0xc6, 0x04, 0x45, ...int32(MARKS + mark), 1];
}
