import { int32 } from "../../../../code/x64/operands.ts";

/** Bytes below the stack pointer that functions may use without moving it. */
export const RED_ZONE_BYTES = 128;

// Machine code that moves the stack pointer over the red zone and back, without changing flags.
export const SKIP_RED_ZONE: readonly number[] = [0x48, 0x8d, 0x64, 0x24, 0x80];
export const LEAVE_RED_ZONE: readonly number[] = [0x48, 0x8d, 0xa4, 0x24, ...int32(RED_ZONE_BYTES)];

const [PUSH, POP] = [0x50, 0x58];

export function pushBytes(register: number): number[] {
  return stackBytes(PUSH, register);
}

export function popBytes(register: number): number[] {
  return stackBytes(POP, register);
}

function stackBytes(opcode: number, register: number): number[] {
  return [...(register > 7 ? [0x41] : []), opcode + (register & 7)];
}
