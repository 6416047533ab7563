import { type Assembler, RAX, RDI } from "../../../code/x64/index.ts";

const EXIT_GROUP = 231;

/** A system call, whose arguments are in their registers. rax has the result; rcx and r11 are lost. */
export function systemCall(asm: Assembler, number: number): void {
  asm.put("mov", 4, RAX, number);
  asm.put("syscall", 4);
}

/** Ends the process. */
export function exitWith(asm: Assembler, code: number): void {
  asm.put("mov", 4, RDI, code);
  systemCall(asm, EXIT_GROUP);
}
