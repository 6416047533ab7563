import {
  type Assembler,
  type Label,
  R8,
  R9,
  R10,
  RAX,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
} from "../../../code/x64/index.ts";
import { place, relative } from "../../../code/x64/operands.ts";
import { SYSTEM_CALL } from "../rewrite/watched-system-calls.ts";
import { systemCall } from "../start/system-calls.ts";
import { STARTED_AT } from "./original-files.ts";

const SYSTEM = { write: 1, open: 2, close: 3, openat: 257, readlinkat: 267 } as const;
const AT_FDCWD = -100;
/** O_PATH | O_CLOEXEC, and O_WRONLY | O_APPEND | O_CLOEXEC. */
const [OF_PATH, OF_APPENDING] = [0x20_0000 | 0x8_0000, 1 | 0x400 | 0x8_0000];
/** Layout of the stack: digits of a descriptor, then a path. */
const [DIGITS_END, PATH_BYTES, ROOM] = [16, 496, 512];
const DESCRIPTORS = "/proc/self/fd\0";
const NEWLINE = 10;

/**
 * Assembles code before `execve` and `execveat` that appends the program's path and a newline to the list of
 * started programs. Missing programs and longer paths are ignored. rax, rbx, rcx, rdx, rsi, rdi and r8 to r11
 * are overwritten.
 */
export function recordStarted(asm: Assembler, table: string): void {
  const [isAt, closeProgram, closeAll, out] = Array.from({ length: 4 }, () => asm.label());
  asm.put("sub", 8, RSP, ROOM);
  asm.put("cmp", 4, RAX, SYSTEM_CALL.execveat);
  asm.jump(isAt, "e");
  asm.put("mov", 8, RSI, RDI);
  asm.put("mov", 8, RDI, AT_FDCWD);
  asm.bind(isAt);
  asm.put("mov", 4, RDX, OF_PATH);
  openAs(asm, SYSTEM.openat, RBX, out);
  asm.put("lea", 8, RDI, relative(asm.literal(new TextEncoder().encode(DESCRIPTORS))));
  asm.put("mov", 4, RSI, OF_PATH);
  openAs(asm, SYSTEM.open, R8, closeProgram);

  // Writes the number of the descriptor, the last digit first.
  asm.put("lea", 8, RSI, place(RSP, DIGITS_END - 1));
  asm.put("mov", 1, place(RSI), 0);
  asm.put("mov", 4, RAX, RBX);
  asm.put("mov", 4, RCX, 10);
  const digit = asm.here();
  asm.put("xor", 4, RDX, RDX);
  asm.put("div", 4, RCX);
  asm.put("add", 4, RDX, "0".charCodeAt(0));
  asm.put("sub", 8, RSI, 1);
  asm.put("mov", 1, place(RSI), RDX);
  asm.put("test", 4, RAX, RAX);
  asm.jump(digit, "ne");
  asm.put("mov", 8, RDI, R8);
  asm.put("lea", 8, RDX, place(RSP, DIGITS_END));
  asm.put("mov", 4, R10, PATH_BYTES);
  systemCall(asm, SYSTEM.readlinkat);
  // Result is an error, empty, or too long.
  asm.put("lea", 8, RDX, place(RAX, -1));
  asm.put("cmp", 8, RDX, PATH_BYTES - 1);
  asm.jump(closeAll, "ae");
  asm.put("mov", 1, place(RSP, DIGITS_END, RAX), NEWLINE);
  asm.put("lea", 8, R9, place(RAX, 1));
  asm.put("lea", 8, RDI, relative(table));
  asm.put("mov", 4, RAX, place(RDI, STARTED_AT));
  asm.put("add", 8, RDI, RAX);
  asm.put("mov", 4, RSI, OF_APPENDING);
  openAs(asm, SYSTEM.open, R10, closeAll);
  asm.put("mov", 8, RDI, R10);
  asm.put("lea", 8, RSI, place(RSP, DIGITS_END));
  asm.put("mov", 8, RDX, R9);
  systemCall(asm, SYSTEM.write);
  asm.put("mov", 8, RDI, R10);
  systemCall(asm, SYSTEM.close);
  asm.bind(closeAll);
  asm.put("mov", 8, RDI, R8);
  systemCall(asm, SYSTEM.close);
  asm.bind(closeProgram);
  asm.put("mov", 4, RDI, RBX);
  systemCall(asm, SYSTEM.close);
  asm.bind(out);
  asm.put("add", 8, RSP, ROOM);
}

function openAs(asm: Assembler, number: number, descriptor: typeof RBX, failed: Label): void {
  systemCall(asm, number);
  asm.put("test", 8, RAX, RAX);
  asm.jump(failed, "s");
  asm.put("mov", 8, descriptor, RAX);
}
