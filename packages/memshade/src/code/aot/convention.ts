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

/* Registers, by number, in the calling convention of the System V ABI for x86-64. */

const numbers = (...registers: readonly Register[]) => registers.map(({ number }) => number);

/** Registers of arguments, first to last; further arguments are on the stack. */
export const ARGUMENTS = numbers(RDI, RSI, RDX, RCX, R8, R9);
export const STACK_ARGUMENTS_FROM = ARGUMENTS.length;

/** Registers of a system call's arguments. The call overwrites r11 and rcx. */
export const SYSTEM_ARGUMENTS = numbers(RDI, RSI, RDX, R10, R8, R9);
export const SYSTEM_KILLS = 1 << R11.number;

export const CALLEE_SAVED = numbers(RBX, RBP, R12, R13, R14);

/**
 * Registers that values can live in, in the order of preference. rax and rcx belong to the instruction being
 * written, r15 is linear memory. The last two vector registers are scratch too.
 */
export const ALLOCATABLE = [...numbers(RSI, RDI, R8, R9, R10, R11, RDX), ...CALLEE_SAVED];
export const ALLOCATABLE_VECTORS = 14;

/** Allocatable registers that a call may overwrite, one bit each. */
export const CALLER_SAVED = maskOf(numbers(RSI, RDI, R8, R9, R10, R11, RDX));

export function maskOf(registers: readonly number[]): number {
  return registers.reduce((mask, register) => mask | (1 << register), 0);
}
