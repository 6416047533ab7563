import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { headersEnd, PF_R, PF_X, writeElfImage } from "../../objects/elf/write/image.ts";
import { Assembler, R10, R12, R13, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP } from "../../x64/index.ts";
import { place, relative } from "../../x64/operands.ts";
import { exitWith, systemCall } from "./system-calls.ts";

/** What a launcher does. */
export interface Launch {
  /** Path of the program. */
  readonly program: string;
  /**
   * Code that the process of the program goes through first. It keeps r12, r13 and the stack pointer, and calls `check` where a system
   * call's result in rax may be an error.
   */
  readonly enter?: ((asm: Assembler, check: (step: number) => void) => void) | undefined;
}

/** What a launcher tells, in records of two 32-bit numbers on its descriptor `REPORTS`: what, and with which value. */
export const REPORT = { started: 1, ended: 2, fork: 3, execute: 4, enter: 8 } as const;
/** The descriptor that it tells them on. */
export const REPORTS = 3;
export const REPORT_BYTES = 8;

/** What a process ends with that cannot begin. Whoever starts one knows by what it has left, or told, that it was not the program. */
export const REFUSED = 121;

const EXECUTABLE = 0o755;

const ET_EXEC = 2;
const ADDRESS = 0x40_0000;
const SYSTEM = { write: 1, setMask: 14, fork: 57, execute: 59, wait: 61, setDescriptor: 72 } as const;
const SIG_SETMASK = 2;
const MASK_BYTES = 8;
const [F_SETFD, FD_CLOEXEC] = [2, 1];
/** What is on the stack: the mask of signals as it was, a status, a report. */
const [MASK, STATUS, RECORD, STACK_BYTES] = [0, 8, 16, 32];

/**
 * A program that starts another one, with its own arguments and environment, and waits for it: it tells its number (`started`) and its
 * status (`ended`), as `wait` has it, or what has failed, with the system's number. Signals do not reach it. A static ELF file.
 *
 * It is there because Node does not tell by which of the real-time signals a process has ended, nor that it was one.
 */
export function writeLauncher({ program, enter }: Launch): Uint8Array {
  const asm = new Assembler();
  const [failed, child] = [asm.label(), asm.label()];
  const check = (step: number): void => {
    asm.put("mov", 4, R14, step);
    asm.put("test", 8, RAX, RAX);
    asm.jump(failed, "s");
  };
  // Arguments, and environment behind them.
  asm.put("lea", 8, R12, place(RSP, 8));
  asm.put("mov", 8, RAX, place(RSP));
  asm.put("lea", 8, R13, place(RSP, 16, RAX, 8));
  asm.put("sub", 8, RSP, STACK_BYTES);
  asm.put("mov", 8, RAX, -1);
  asm.put("mov", 8, place(RSP, STATUS), RAX);
  setMask(asm, STATUS, MASK);
  systemCall(asm, SYSTEM.fork);
  check(REPORT.fork);
  asm.jump(child, "e");

  asm.put("mov", 4, RBX, RAX);
  report(asm, REPORT.started, RBX);
  asm.put("mov", 4, RDI, RBX);
  asm.put("lea", 8, RSI, place(RSP, STATUS));
  asm.put("xor", 4, RDX, RDX);
  asm.put("xor", 4, R10, R10);
  systemCall(asm, SYSTEM.wait);
  asm.put("mov", 4, RCX, place(RSP, STATUS));
  report(asm, REPORT.ended, RCX);
  exitWith(asm, 0);

  asm.bind(child);
  enter?.(asm, check);
  setMask(asm, MASK);
  asm.put("mov", 4, RDI, REPORTS);
  asm.put("mov", 4, RSI, F_SETFD);
  asm.put("mov", 4, RDX, FD_CLOEXEC);
  systemCall(asm, SYSTEM.setDescriptor);
  asm.put("lea", 8, RDI, relative(asm.literal(new TextEncoder().encode(`${program}\0`))));
  asm.put("mov", 8, RSI, R12);
  asm.put("mov", 8, RDX, R13);
  systemCall(asm, SYSTEM.execute);
  check(REPORT.execute);

  asm.bind(failed);
  asm.put("neg", 4, RAX);
  asm.put("mov", 4, R15, RAX);
  report(asm, R14, R15);
  exitWith(asm, REFUSED);

  const code = asm.finish().bytes;
  const address = ADDRESS + headersEnd(1);
  return writeElfImage({
    type: ET_EXEC,
    entry: address,
    segments: [{ flags: PF_R | PF_X, address, bytes: code }],
  });
}

/** Where the launcher of a run lies in its folder. */
export function launcherIn(folder: string): string {
  return join(folder, "launcher");
}

/** Writes the launcher of a run. @returns its path */
export function placeLauncher(folder: string, launch: Launch): string {
  const path = launcherIn(folder);
  writeFileSync(path, writeLauncher(launch), { mode: EXECUTABLE });
  return path;
}

/** Takes the mask of signals from one place on the stack, and leaves the last one at another. */
function setMask(asm: Assembler, from: number, last?: number): void {
  asm.put("mov", 4, RDI, SIG_SETMASK);
  asm.put("lea", 8, RSI, place(RSP, from));
  if (last === undefined) asm.put("xor", 4, RDX, RDX);
  else asm.put("lea", 8, RDX, place(RSP, last));
  asm.put("mov", 4, R10, MASK_BYTES);
  systemCall(asm, SYSTEM.setMask);
}

function report(asm: Assembler, what: number | typeof R14, value: typeof R14): void {
  asm.put("mov", 4, place(RSP, RECORD), what);
  asm.put("mov", 4, place(RSP, RECORD + 4), value);
  asm.put("mov", 4, RDI, REPORTS);
  asm.put("lea", 8, RSI, place(RSP, RECORD));
  asm.put("mov", 4, RDX, REPORT_BYTES);
  systemCall(asm, SYSTEM.write);
}
