import {
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
} from "../x64/index.ts";

/* Which register, by its number, has what part in calls: those of the System V ABI of x86-64. */

const numbers = (...registers: readonly Register[]) => registers.map(({ number }) => number);

/** What arguments come in, first to last; more of them lie on the stack. */
export const ARGUMENTS = numbers(RDI, RSI, RDX, RCX, R8, R9);
export const STACK_ARGUMENTS_FROM = ARGUMENTS.length;

/** The same of a system call, which overwrites r11 and rcx. */
export const SYSTEM_ARGUMENTS = numbers(RDI, RSI, RDX, R10, R8, R9);
export const SYSTEM_KILLS = 1 << R11.number;

/** What a function gives back as it got it. */
export const CALLEE_SAVED = numbers(RBX, RBP, R12, R13, R14);

/**
 * What values can live in, the first choice first. rax and rcx belong to the instruction being written, r15 is linear memory; so do
 * the last two vector registers.
 */
export const ALLOCATABLE = [...numbers(RSI, RDI, R8, R9, R10, R11, RDX), ...CALLEE_SAVED];
export const ALLOCATABLE_VECTORS = 14;

/** Of those, what a call may overwrite, one bit each. */
export const CALLER_SAVED = maskOf(numbers(RSI, RDI, R8, R9, R10, R11, RDX));

export function maskOf(registers: readonly number[]): number {
  return registers.reduce((mask, register) => mask | (1 << register), 0);
}
