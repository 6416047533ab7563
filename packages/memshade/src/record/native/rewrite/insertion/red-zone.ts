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

/**
 * `lahf`, `seto %al` saves the flags in ax; `add $127, %al`, `sahf` restores them. `pushf` and `popf` take
 * several times as long.
 */
export const TAKE_FLAGS: readonly number[] = [0x9f, 0x0f, 0x90, 0xc0];
export const GIVE_FLAGS: readonly number[] = [0x04, 0x7f, 0x9e];

/** Returns `mov` between two registers, by their numbers. */
export function moveRegister(from: number, to: number): number[] {
  return [0x48 | ((from >> 3) << 2) | (to >> 3), 0x89, 0xc0 | ((from & 7) << 3) | (to & 7)];
}
