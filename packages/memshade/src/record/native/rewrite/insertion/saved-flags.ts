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
