import { getSystemErrorName } from "node:util";
import { type Assembler, RAX, RDI } from "../../../code/x64/index.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";

const EXIT_GROUP = 231;

/**
 * Assembles a system call with the arguments in registers. The result is in rax; rcx and r11 are overwritten.
 */
export function systemCall(asm: Assembler, number: number): void {
  asm.put("mov", 4, RAX, number);
  asm.put("syscall", 4);
}

export function exitWith(asm: Assembler, code: number): void {
  asm.put("mov", 4, RDI, code);
  systemCall(asm, EXIT_GROUP);
}

/** Describes an errno, such as 2 for ENOENT. */
export function errorInWords(number: number): string {
  const code = getSystemErrorName(-number);
  return describeSystemError(Object.assign(new Error(code), { code }));
}
