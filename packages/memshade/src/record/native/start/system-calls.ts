import { type Assembler, RAX, RDI } from "../../../code/x64/index.ts";

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
