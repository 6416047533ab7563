import { type Assembler, RAX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { place, relative } from "../../../code/x64/operands.ts";
import { systemCall } from "../start/system-calls.ts";

const [EXECUTE, READLINK, GETRLIMIT, SETRLIMIT] = [59, 89, 97, 160];
const RLIMIT_STACK = 3;
const LIMIT_BYTES = 16;
const UNLIMITED = -1;
/** A limit that nobody else has: a GiB and a page. */
const BEGUN_AGAIN = 0x4000_1000;
const PATH_BYTES = 4096;
const WORD = 8;

/**
 * Where the stack has no limit, the kernel puts libraries in the middle of the addresses, where counters are to be. The process executes
 * its program once more with a limit, which `restoreStackLimit` takes away again. The stack pointer is as the kernel left it, and stays so
 * where there was a limit or that fails; all other registers are lost.
 */
export function beginAgainWithStackLimit(asm: Assembler): void {
  const [limited, failed] = [asm.label(), asm.label()];
  asm.put("sub", 8, RSP, LIMIT_BYTES);
  callWithLimit(asm, GETRLIMIT);
  asm.put("cmp", 8, place(RSP), UNLIMITED);
  asm.jump(limited, "ne");
  asm.put("mov", 8, place(RSP), BEGUN_AGAIN);
  callWithLimit(asm, SETRLIMIT);
  asm.put("sub", 8, RSP, PATH_BYTES);
  asm.put("lea", 8, RDI, relative(asm.literal(new TextEncoder().encode("/proc/self/exe\0"))));
  asm.put("mov", 8, RSI, RSP);
  asm.put("mov", 4, RDX, PATH_BYTES - WORD);
  systemCall(asm, READLINK);
  asm.put("test", 8, RAX, RAX);
  asm.jump(failed, "le");
  asm.put("mov", 8, place(RSP, 0, RAX, 1), 0);
  asm.put("mov", 8, RDI, RSP);
  const count = PATH_BYTES + LIMIT_BYTES;
  asm.put("mov", 8, RAX, place(RSP, count));
  asm.put("lea", 8, RSI, place(RSP, count + WORD));
  asm.put("lea", 8, RDX, place(RSP, count + 2 * WORD, RAX, WORD));
  systemCall(asm, EXECUTE);
  asm.bind(failed);
  asm.put("add", 8, RSP, PATH_BYTES);
  asm.bind(limited);
  asm.put("add", 8, RSP, LIMIT_BYTES);
}

/** Of a process that has begun again. Keeps the stack pointer. */
export function restoreStackLimit(asm: Assembler): void {
  const other = asm.label();
  asm.put("sub", 8, RSP, LIMIT_BYTES);
  callWithLimit(asm, GETRLIMIT);
  asm.put("cmp", 8, place(RSP), BEGUN_AGAIN);
  asm.jump(other, "ne");
  asm.put("mov", 8, place(RSP), UNLIMITED);
  callWithLimit(asm, SETRLIMIT);
  asm.bind(other);
  asm.put("add", 8, RSP, LIMIT_BYTES);
}

function callWithLimit(asm: Assembler, number: number): void {
  asm.put("mov", 4, RDI, RLIMIT_STACK);
  asm.put("mov", 8, RSI, RSP);
  systemCall(asm, number);
}
