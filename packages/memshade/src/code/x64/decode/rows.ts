/**
 * Row of the instruction table, in the letters of the opcode maps of Intel's manual (volume 2, appendix A):
 *
 * 1. encodings: `L` legacy, `V` VEX, `E` EVEX, `X` XOP.
 * 2. opcode: a mandatory prefix and opcode bytes, a list or range of last bytes, and `/digit` of ModRM; `m`, `r`:
 * only with a place, only with a register.
 * 3. operands and effects, separated by blanks; or four of these, separated by `|`: without prefix, with 66, F3,
 * F2; `-` if there is no such instruction.
 *
 * **Operands**: `E` general register or place, `G` general register in the reg field, `Z` in the opcode, `A` rax,
 * `B` in the VEX prefix; `W` vector register or place, `U` vector register only, `M` place only, `S` places with a
 * vector of indices; `I` constant, `J` distance, `O` address without ModRM. Vector registers in other fields are
 * left out. A letter of `SIZES` follows, then `=` for written, `+` for read and written, `!` if only its address is
 * taken; otherwise it is read.
 *
 * **Effects**: registers, `flags`, `carry`, `rest` (all flags but carry) or `all`, with `?` for read, `=` for
 * replaced, `~` for changed in part or not always. `@` is followed by the control flow, or by the implicit memory
 * access.
 */
export type Row = readonly [encodings: string, opcode: string, does: string];

/** Control flow after an instruction. */
export const FLOW = {
  next: 0,
  jump: 1,
  /** a jump that may not be taken */
  branch: 2,
  call: 3,
  return: 4,
  indirectJump: 5,
  indirectCall: 6,
  /** no successor: a fault, or a privileged instruction */
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
  ports: 10,
} as const;

/** Sizes in bytes by their letters, or rules by which they follow from the prefixes. */
export const SIZES = {
  b: 1,
  w: 2,
  d: 4,
  q: 8,
  o: 16,
  /** x87's extended format */
  t: 10,
  i: 32,
  /** none: the operand has no size */
  n: 0,
  /** operand size: 2, 4 or 8 */
  v: 40,
  /** 4, or 8 with W */
  y: 41,
  /** 8, or 16 with W */
  c: 42,
  /** vector length, its half, quarter and eighth; half or whole with W */
  x: 43,
  h: 44,
  f: 45,
  e: 46,
  H: 47,
  /** element: 4, or 8 with W */
  s: 48,
  /** vector accessed element by element: EVEX scales displacements by the element, of 4 or 8, and of 1 or 2 bytes */
  k: 49,
  l: 50,
  /** vmovddup: 8 bytes, but whole vectors if these are longer than 16 */
  D: 51,
  p: 52,
  /** kmov: 2, or 8 with W; 1, or 4 with W */
  K: 53,
  L: 54,
} as const;
