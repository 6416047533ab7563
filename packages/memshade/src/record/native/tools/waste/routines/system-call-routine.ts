import {
  type Assembler,
  type Label,
  place,
  R8,
  R9,
  R10,
  R11,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
  relative,
} from "../../../../../code/x64/index.ts";
import { PAGE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import { ADDRESS_BITS, SHADOW, UNKNOWN_CALLS } from "../layout.ts";
import {
  ALWAYS,
  KIND,
  type ReachedMemory,
  ROW,
  ROW_BYTES,
  reachedMemory,
  systemCallTable,
} from "./system-calls.ts";

/** Argument registers of a system call in order, then other saved registers. */
const ARGUMENTS = [RDI, RSI, RDX, R10, R8, R9];
const OTHERS = [RAX, RBX, RCX, R11, RBP];
const PUSHED = 8;
/** Offset of the pushed operand, above the saved registers, the flags and the return address. */
const PUSHED_AT = PUSHED * (ARGUMENTS.length + OTHERS.length + 2);
const [UNMAP, ADVISE, REMOVE] = [11, 28, 9];
/** Fields of an `ioctl` request: direction and size. */
const [DIRECTION_SHIFT, SIZE_SHIFT, SIZE_MASK] = [30, 16, 0x3fff];
/** A word of a bit set has 64 bits, 8 bytes. */
const [BITS_SHIFT, BYTES_SHIFT] = [6, 3];

/**
 * Routines around system calls. They mark all bytes that the kernel reads or writes as read. Both keep registers and
 * flags.
 */
export interface SystemCallRoutines {
  /** Runs before a call. Pushed: limit of the accessed bytes, for a call that returns their number. */
  before: Label;
  /** Runs after a call that returns the number of accessed bytes. Pushed: the call's number. */
  behind: Label;
}

export function systemCallRoutines(asm: Assembler): SystemCallRoutines {
  asm.align(16);
  const reached = reachedMemory(asm);
  const table = systemCallTable();
  const tables = { ...table, firstAt: asm.literal(table.first), rowsAt: asm.literal(table.rows) };
  return { before: beforeRoutine(asm, reached, tables), behind: behindRoutine(asm, reached, tables) };
}

interface Tables {
  count: number;
  firstAt: Label;
  rowsAt: Label;
}

function beforeRoutine(asm: Assembler, reached: ReachedMemory, tables: Tables): Label {
  const routine = enter(asm);
  const [out, done] = [asm.label(), asm.label()];
  asm.put("mov", 8, RBP, place(RSP, PUSHED_AT));
  // r11: number of rows of the call.
  asm.put("xor", 4, R11, R11);
  eachRow(asm, tables, done, (next) => {
    asm.put("add", 8, R11, 1);
    byKind(asm, reached, next);
    byKindAndLength(asm, reached, next);
  });
  asm.bind(done);
  forgetUnmapped(asm);
  asm.put("test", 4, R11, R11);
  asm.jump(out, "ne");
  asm.put("add", 8, place(undefined, UNKNOWN_CALLS), 1);
  asm.bind(out);
  leave(asm);
  return routine;
}

function behindRoutine(asm: Assembler, reached: ReachedMemory, tables: Tables): Label {
  const routine = enter(asm);
  const out = asm.label();
  asm.put("mov", 8, RBP, RAX);
  asm.put("mov", 8, RAX, place(RSP, PUSHED_AT));
  // The call failed or accessed nothing.
  asm.put("test", 8, RBP, RBP);
  asm.jump(out, "le");
  eachRow(asm, tables, out, (next) => byKindAndLength(asm, reached, next));
  asm.bind(out);
  leave(asm);
  return routine;
}

function enter(asm: Assembler): Label {
  asm.align(16);
  const routine = asm.here();
  asm.put("pushf", 8);
  for (const register of OTHERS) asm.put("push", 8, register);
  for (const register of [...ARGUMENTS].reverse()) asm.put("push", 8, register);
  return routine;
}

function leave(asm: Assembler): void {
  for (const register of ARGUMENTS) asm.put("pop", 8, register);
  for (const register of [...OTHERS].reverse()) asm.put("pop", 8, register);
  asm.put("popf", 8);
  asm.put("ret", 8);
}

/**
 * Emits a loop over the matching rows of the call whose number is in rax. rdi: pointer; r8: other argument; rsi: bytes;
 * ecx: kind. rbx: the row; rax: end of the rows.
 */
function eachRow(
  asm: Assembler,
  { count, firstAt, rowsAt }: Tables,
  done: Label,
  act: (next: Label) => void,
): void {
  const [loop, next, holds] = [asm.label(), asm.label(), asm.label()];
  asm.put("cmp", 8, RAX, count);
  asm.jump(done, "ae");
  asm.put("lea", 8, RBX, relative(firstAt));
  asm.put("movzx.w", 4, RCX, place(RBX, 0, RAX, 2));
  asm.put("movzx.w", 4, RAX, place(RBX, 2, RAX, 2));
  asm.put("lea", 8, RBX, relative(rowsAt));
  for (const row of [RCX, RAX]) {
    // A row has three times four bytes.
    asm.put("lea", 8, row, place(row, 0, row, 2));
    asm.put("lea", 8, row, place(RBX, 0, row, 4));
  }
  asm.put("mov", 8, RBX, RCX);
  asm.bind(loop);
  asm.put("cmp", 8, RBX, RAX);
  asm.jump(done, "ae");
  asm.put("movzx.b", 4, RCX, place(RBX, ROW.when));
  asm.put("cmp", 4, RCX, ALWAYS);
  asm.jump(holds, "e");
  asm.put("mov", 4, RDX, place(RBX, ROW.value));
  asm.put("cmp", 4, place(RSP, 0, RCX, 8), RDX);
  asm.jump(next, "ne");
  asm.bind(holds);
  asm.put("movzx.b", 4, RCX, place(RBX, ROW.pointer));
  asm.put("mov", 8, RDI, place(RSP, 0, RCX, 8));
  asm.put("movzx.b", 4, RCX, place(RBX, ROW.other));
  asm.put("mov", 8, R8, place(RSP, 0, RCX, 8));
  asm.put("mov", 4, RSI, place(RBX, ROW.bytes));
  asm.put("movzx.b", 4, RCX, place(RBX, ROW.kind));
  act(next);
  asm.bind(next);
  asm.put("add", 8, RBX, ROW_BYTES);
  asm.jump(loop);
}

function unless(asm: Assembler, kind: number, next: Label, act: () => void): void {
  const other = asm.label();
  asm.put("cmp", 4, RCX, kind);
  asm.jump(other, "ne");
  act();
  asm.jump(next);
  asm.bind(other);
}

/** Handles a row of a call that returns how much it accessed. rbp is the limit. */
function byKindAndLength(asm: Assembler, reached: ReachedMemory, next: Label): void {
  unless(asm, KIND.vectors, next, () => asm.call(reached.vectors));
  unless(asm, KIND.message, next, () => asm.call(reached.message));
  unless(asm, KIND.returned, next, () => {
    asm.put("mov", 8, RDX, RBP);
    asm.put("imul", 8, RDX, RSI);
    asm.put("imul", 8, RSI, R8);
    asm.put("cmp", 8, RSI, RDX);
    asm.put("cmova", 8, RSI, RDX);
    asm.call(reached.bytes);
  });
}

function byKind(asm: Assembler, reached: ReachedMemory, next: Label): void {
  unless(asm, KIND.bytes, next, () => asm.call(reached.bytes));
  unless(asm, KIND.argument, next, () => {
    asm.put("imul", 8, RSI, R8);
    asm.call(reached.bytes);
  });
  unless(asm, KIND.text, next, () => asm.call(reached.text));
  unless(asm, KIND.messages, next, () => asm.call(reached.messages));
  unless(asm, KIND.texts, next, () => asm.call(reached.texts));
  unless(asm, KIND.bits, next, () => {
    asm.put("mov", 4, RSI, R8);
    asm.put("add", 8, RSI, (1 << BITS_SHIFT) - 1);
    asm.put("shr", 8, RSI, BITS_SHIFT);
    asm.put("shl", 8, RSI, BYTES_SHIFT);
    asm.call(reached.bytes);
  });
  unless(asm, KIND.lengthAt, next, () => {
    asm.put("cmp", 8, R8, PAGE_BYTES);
    asm.jump(next, "b");
    asm.put("mov", 4, RSI, place(R8));
    asm.call(reached.bytes);
  });
  // A request may access further memory, which is unknown.
  unless(asm, KIND.request, next, () => {
    asm.put("sub", 8, R11, 1);
    asm.put("mov", 4, RSI, R8);
    asm.put("shr", 4, RSI, DIRECTION_SHIFT);
    asm.jump(next, "e");
    asm.put("mov", 4, RSI, R8);
    asm.put("shr", 4, RSI, SIZE_SHIFT);
    asm.put("and", 4, RSI, SIZE_MASK);
    asm.call(reached.bytes);
  });
}

/** Clears the words of unmapped memory. They would count as unread at the end, and memory mapped there later is new. */
function forgetUnmapped(asm: Assembler): void {
  const isOther = asm.label();
  const [address, bytes] = [ARGUMENTS.indexOf(RDI), ARGUMENTS.indexOf(RSI)];
  asm.put("cmp", 8, place(RSP, PUSHED * (ARGUMENTS.length + OTHERS.length - 1)), UNMAP);
  asm.jump(isOther, "ne");
  asm.put("mov", 8, RDI, place(RSP, PUSHED * address));
  asm.put("mov", 8, RSI, place(RSP, PUSHED * bytes));
  asm.put("shl", 8, RDI, 64 - ADDRESS_BITS);
  asm.put("shr", 8, RDI, 63 - ADDRESS_BITS);
  asm.put("mov", 8, RAX, SHADOW);
  asm.put("add", 8, RDI, RAX);
  // `munmap` works on whole pages.
  asm.put("add", 8, RSI, PAGE_BYTES - 1);
  asm.put("and", 8, RSI, -PAGE_BYTES);
  asm.put("add", 8, RSI, RSI);
  asm.put("mov", 4, RDX, REMOVE);
  // `syscall` destroys rcx and r11.
  asm.put("mov", 8, RBX, R11);
  asm.put("mov", 4, RAX, ADVISE);
  asm.put("syscall", 4);
  asm.put("mov", 8, R11, RBX);
  asm.bind(isOther);
}
