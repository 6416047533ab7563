import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { headersEnd, PF_R, PF_W, PF_X, writeElfImage } from "../../../code/objects/elf/write/image.ts";
import { Assembler, R10, R12, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { type Label, place, relative } from "../../../code/x64/operands.ts";
import type { Inherited } from "../../host/run/inherited.ts";
import { inherit, placeTexts, writeOwnNumber } from "./inherit.ts";
import { exitWith, systemCall } from "./system-calls.ts";

export interface Launch {
  readonly program: string;
  /** Arguments of the program including its name, and variables `NAME=value`. */
  readonly argv: readonly Uint8Array[];
  readonly environment: readonly Uint8Array[];
  /** State that the program inherits instead of the launcher's; undefined if it is unknown. */
  readonly inherited?: Inherited | undefined;
  /** Descriptor for the launcher's reports. */
  readonly reports: number;
  /**
   * Writes code that the program's process runs first. It preserves the stack pointer, and calls `check`
   * where rax may have an error of a system call.
   */
  readonly enter?: ((asm: Assembler, check: (step: number) => void) => void) | undefined;
  /**
   * Path to execute instead of the program if `enter` fails, which is reported; undefined: the process ends.
   */
  readonly otherwise?: string | undefined;
}

/** Kinds of reports. A report has two 32-bit numbers: kind and value. */
export const REPORT = { started: 1, ended: 2, fork: 3, execute: 4, enter: 8 } as const;
export const REPORT_BYTES = 8;

/**
 * Exit code of a process that could not start. Other evidence must show that it is not the program's own
 * code.
 */
export const REFUSED = 121;

const EXECUTABLE = 0o755;

const ET_EXEC = 2;
/** Addresses of the code, and of the program's arguments. */
const [ADDRESS, TEXTS_ADDRESS] = [0x40_0000, 0x1000_0000];
const SYSTEM = {
  write: 1,
  close: 3,
  setMask: 14,
  fork: 57,
  execute: 59,
  wait: 61,
  setDescriptor: 72,
} as const;
const SIG_SETMASK = 2;
const MASK_BYTES = 8;
const STANDARD_STREAMS = 3;
const [F_SETFD, FD_CLOEXEC] = [2, 1];
/** Offsets on the stack: original signal mask, status, report. */
const [MASK, STATUS, RECORD, STACK_BYTES] = [0, 8, 16, 32];

/**
 * Writes a program that starts another program and waits for it, as a static ELF file. It reports the process
 * id (`started`) and the status of `wait` (`ended`), or the step that has failed with its errno. Signals do
 * not reach it.
 * Node alone cannot report which real-time signal has ended a process.
 */
export function writeLauncher(launch: Launch): Uint8Array {
  const { program, argv, environment, inherited, reports, enter, otherwise } = launch;
  const asm = new Assembler();
  const text = (string: string): Label => asm.literal(new TextEncoder().encode(`${string}\0`));
  const texts = placeTexts({ argv, environment, starter: inherited?.pid }, TEXTS_ADDRESS);
  const report = (kind: number | typeof R14, value: typeof R14): void => {
    asm.put("mov", 4, place(RSP, RECORD), kind);
    asm.put("mov", 4, place(RSP, RECORD + 4), value);
    asm.put("mov", 4, RDI, reports);
    asm.put("lea", 8, RSI, place(RSP, RECORD));
    asm.put("mov", 4, RDX, REPORT_BYTES);
    systemCall(asm, SYSTEM.write);
  };
  const reportFailure = (): void => {
    asm.put("neg", 4, RAX);
    asm.put("mov", 4, R15, RAX);
    report(R14, R15);
  };
  const [failed, child, refused, begin] = [asm.label(), asm.label(), asm.label(), asm.label()];
  const checkOr = (target: Label, step: number): void => {
    asm.put("mov", 4, R14, step);
    asm.put("test", 8, RAX, RAX);
    asm.jump(target, "s");
  };
  const check = (step: number): void => checkOr(failed, step);
  asm.put("sub", 8, RSP, STACK_BYTES);
  asm.put("mov", 8, RAX, -1);
  asm.put("mov", 8, place(RSP, STATUS), RAX);
  setMask(asm, STATUS, MASK);
  systemCall(asm, SYSTEM.fork);
  check(REPORT.fork);
  asm.jump(child, "e");

  asm.put("mov", 4, RBX, RAX);
  report(REPORT.started, RBX);
  for (const descriptor of inherited?.descriptors.keys() ?? [])
    if (descriptor >= STANDARD_STREAMS) {
      asm.put("mov", 4, RDI, descriptor);
      systemCall(asm, SYSTEM.close);
    }
  asm.put("mov", 4, RDI, RBX);
  asm.put("lea", 8, RSI, place(RSP, STATUS));
  asm.put("xor", 4, RDX, RDX);
  asm.put("xor", 4, R10, R10);
  systemCall(asm, SYSTEM.wait);
  asm.put("mov", 4, RCX, place(RSP, STATUS));
  report(REPORT.ended, RCX);
  exitWith(asm, 0);

  asm.bind(child);
  enter?.(asm, (step) => checkOr(refused, step));
  asm.put("lea", 8, R12, relative(text(program)));
  asm.bind(begin);
  if (texts.number !== undefined) writeOwnNumber(asm, texts.number);
  if (inherited !== undefined) inherit(asm, inherited);
  if (inherited !== undefined) asm.put("movabs", 8, RAX, BigInt.asIntN(64, inherited.blocked));
  if (inherited !== undefined) asm.put("mov", 8, place(RSP, MASK), RAX);
  setMask(asm, MASK);
  asm.put("mov", 4, RDI, reports);
  asm.put("mov", 4, RSI, F_SETFD);
  asm.put("mov", 4, RDX, FD_CLOEXEC);
  systemCall(asm, SYSTEM.setDescriptor);
  asm.put("mov", 8, RDI, R12);
  asm.put("mov", 4, RSI, texts.argv);
  asm.put("mov", 4, RDX, texts.environment);
  systemCall(asm, SYSTEM.execute);
  check(REPORT.execute);

  asm.bind(refused);
  if (otherwise !== undefined) {
    reportFailure();
    asm.put("lea", 8, R12, relative(text(otherwise)));
    asm.jump(begin);
  }
  asm.bind(failed);
  reportFailure();
  exitWith(asm, REFUSED);

  const code = asm.finish().bytes;
  const address = ADDRESS + headersEnd(2);
  return writeElfImage({
    type: ET_EXEC,
    entry: address,
    segments: [
      { flags: PF_R | PF_X, address, bytes: code },
      { flags: PF_R | PF_W, address: TEXTS_ADDRESS, bytes: texts.bytes },
    ],
  });
}

export function launcherIn(folder: string): string {
  return join(folder, "launcher");
}

export function placeLauncher(folder: string, launch: Launch): string {
  const path = launcherIn(folder);
  writeFileSync(path, writeLauncher(launch), { mode: EXECUTABLE });
  return path;
}

/** Sets the signal mask from the stack, and stores the old one on the stack. */
function setMask(asm: Assembler, from: number, last?: number): void {
  asm.put("mov", 4, RDI, SIG_SETMASK);
  asm.put("lea", 8, RSI, place(RSP, from));
  if (last === undefined) asm.put("xor", 4, RDX, RDX);
  else asm.put("lea", 8, RDX, place(RSP, last));
  asm.put("mov", 4, R10, MASK_BYTES);
  systemCall(asm, SYSTEM.setMask);
}
