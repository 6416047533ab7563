/**
 * How instructions are written down, a row each, in the letters of the opcode maps of Intel's manual (volume 2, appendix A):
 *
 * 1. encodings: `L` legacy, `V` VEX, `E` EVEX, `X` XOP.
 * 2. opcode: bytes with a mandatory prefix in front, a list or range of last bytes, and `/digit` of ModRM; `m`, `r`: only with a
 *    place, only with a register.
 * 3. what it does, parted by blanks; or four of those, parted by `|`: without prefix, with 66, F3, F2; `-` where there is none.
 *
 * **Operands**: `E` general register or place, `G` general register in the reg field, `Z` in the opcode, `A` rax, `B` in
 * the VEX prefix; `W` vector register or place, `U` vector register only, `M` place only, `S` places with a vector of indices; `I` constant,
 * `J` distance, `O` address without ModRM. Vector registers in other fields are left out. Then the size of `SIZES`,
 * and `=` written, `+` read and written, `!` only its address taken; else it is read.
 *
 * **Effects**: registers, `flags`, `carry`, `rest` (all flags but carry) or `all`, with `?` read, `=` replaced, `~` changed in
 * part or not always. `@` what follows it, or which memory it reaches without naming it.
 */
export type Row = readonly [encodings: string, opcode: string, does: string];

/** What may follow an instruction. */
export const FLOW = {
  next: 0,
  jump: 1,
  /** a jump that may not be taken */
  branch: 2,
  call: 3,
  return: 4,
  indirectJump: 5,
  indirectCall: 6,
  /** nothing: a fault, or what only the system may do */
  trap: 7,
  systemCall: 8,
} as const;

/** Memory that an instruction reaches without an operand. */
export const IMPLICIT = {
  none: 0,
  push: 1,
  pop: 2,
  /** string instructions: [rdi] ← [rsi], [rdi] ← rax, rax ← [rsi], and comparisons */
  movs: 3,
  stos: 4,
  lods: 5,
  cmps: 6,
  scas: 7,
  /** bytes of [rdi], by a mask */
  maskmov: 8,
  /** [rbx + al] */
  xlat: 9,
  /** ports */
  ports: 10,
} as const;

/** Sizes in bytes by their letters, or how they follow from the prefixes. */
export const SIZES = {
  b: 1,
  w: 2,
  d: 4,
  q: 8,
  o: 16,
  /** x87's extended format */
  t: 10,
  i: 32,
  /** none: what the operand is has no size */
  n: 0,
  /** operand size: 2, 4 or 8 */
  v: 40,
  /** 4, or 8 with W */
  y: 41,
  /** twice that */
  c: 42,
  /** vector length, its half, quarter and eighth; half or whole with W */
  x: 43,
  h: 44,
  f: 45,
  e: 46,
  H: 47,
  /** element: 4, or 8 with W */
  s: 48,
  /** the vector as one element after another: EVEX scales displacements by the element, of 4 or 8, and of 1 or 2 bytes */
  k: 49,
  l: 50,
  /** vmovddup: 8, but whole vectors of more than 16 */
  D: 51,
  /** pointer with selector */
  p: 52,
  /** kmov: 2, or 8 with W; 1, or 4 with W */
  K: 53,
  L: 54,
} as const;
