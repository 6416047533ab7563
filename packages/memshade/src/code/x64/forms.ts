/**
 * Supported forms of instructions. Columns:
 *
 * 1. mnemonic, as `objdump` prints it in Intel's syntax; a suffix after a dot distinguishes forms by the size of
 * their source.
 * 2. operands in Intel's order. `r`: general register in the reg field of ModRM; `m`: general register or place in
 * its r/m field; `p`: place only; `o`: general register in the opcode; `x`, `y`: the same as `r`, `m` of vector
 * registers, `z`: `y` without places; `c`: the register cl, `1`: the constant, neither of which is encoded; `b`:
 * signed constant of one byte; `u`: unsigned one; `w`: unsigned one of two bytes; `i`: signed constant of four
 * bytes (of two if the operands have two); `q`: constant of eight.
 * 3. bytes: a prefix that belongs to the opcode, the opcode, and `/digit` if the reg field is part of it.
 * 4. sizes of the operands in bytes that the form supports. 2 takes a prefix, 8 a bit of REX; `-`: the size is not
 * encoded.
 * 5. size in bytes of `m` or `y` in memory, if it differs from the size of the operands.
 *
 * The first form that fits is used, so shorter forms come first.
 */
export type FormRow = readonly [
  mnemonic: string,
  operands: string,
  bytes: string,
  sizes: string,
  memory?: number,
];

const ARITHMETIC = ["add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"];
const SHIFTS: Readonly<Record<string, number>> = { rol: 0, ror: 1, shl: 4, shr: 5, sar: 7 };
/** Conditions in the order of their numbers. */
export const CONDITIONS = [
  "o",
  "no",
  "b",
  "ae",
  "e",
  "ne",
  "be",
  "a",
  "s",
  "ns",
  "p",
  "np",
  "l",
  "ge",
  "le",
  "g",
] as const;
export type Condition = (typeof CONDITIONS)[number];

export function invert(condition: Condition): Condition {
  return CONDITIONS[CONDITIONS.indexOf(condition) ^ 1];
}

const hex = (value: number) => value.toString(16).padStart(2, "0");

/** Vector instructions of the shape `x ← x op y`, by their opcode after 66 0F. */
const VECTOR_OPERATIONS: Readonly<Record<string, string>> = {
  paddb: "fc",
  paddw: "fd",
  paddd: "fe",
  paddq: "d4",
  psubb: "f8",
  psubw: "f9",
  psubd: "fa",
  psubq: "fb",
  paddusb: "dc",
  paddusw: "dd",
  psubusb: "d8",
  psubusw: "d9",
  pmullw: "d5",
  pmuludq: "f4",
  pmaddwd: "f5",
  pand: "db",
  pandn: "df",
  por: "eb",
  pxor: "ef",
  pcmpeqb: "74",
  pcmpeqw: "75",
  pcmpeqd: "76",
  pcmpgtb: "64",
  pcmpgtw: "65",
  pcmpgtd: "66",
  pminub: "da",
  pmaxub: "de",
  packsswb: "63",
  packssdw: "6b",
  packuswb: "67",
  punpcklbw: "60",
  punpcklqdq: "6c",
  punpckhqdq: "6d",
  psllw: "f1",
  pslld: "f2",
  psllq: "f3",
  psrlw: "d1",
  psrld: "d2",
  psrlq: "d3",
  psraw: "e1",
  psrad: "e2",
  pshufb: "38 00",
  pcmpeqq: "38 29",
  pminuw: "38 3a",
  pminud: "38 3b",
  pmaxuw: "38 3e",
  pmaxud: "38 3f",
  pminsb: "38 38",
  pminsd: "38 39",
  pmaxsb: "38 3c",
  pmaxsd: "38 3d",
  pmulld: "38 40",
  packusdw: "38 2b",
  pmaddubsw: "38 04",
  ptest: "38 17",
};
/** Shifts of lanes by a constant: opcode after 66 0F, and digit. */
const LANE_SHIFTS: Readonly<Record<string, readonly [string, number]>> = {
  psrlw: ["71", 2],
  psraw: ["71", 4],
  psllw: ["71", 6],
  psrld: ["72", 2],
  psrad: ["72", 4],
  pslld: ["72", 6],
  psrlq: ["73", 2],
  psllq: ["73", 6],
};

export const FORMS: readonly FormRow[] = [
  ...ARITHMETIC.flatMap((name, i): FormRow[] => [
    [name, "m b", `83 /${i}`, "2 4 8"],
    [name, "m b", `80 /${i}`, "1"],
    [name, "m i", `81 /${i}`, "2 4 8"],
    [name, "m r", hex(i * 8 + 1), "2 4 8"],
    [name, "m r", hex(i * 8), "1"],
    [name, "r m", hex(i * 8 + 3), "2 4 8"],
    [name, "r m", hex(i * 8 + 2), "1"],
  ]),
  ...Object.entries(SHIFTS).flatMap(([name, digit]): FormRow[] => [
    [name, "m 1", `d1 /${digit}`, "2 4 8"],
    [name, "m u", `c1 /${digit}`, "2 4 8"],
    [name, "m c", `d3 /${digit}`, "2 4 8"],
  ]),
  ["test", "m r", "85", "2 4 8"],
  ["test", "m r", "84", "1"],
  ["test", "m i", "f7 /0", "2 4 8"],
  ["test", "m u", "f6 /0", "1"],
  ["mov", "m r", "89", "2 4 8"],
  ["mov", "m r", "88", "1"],
  ["mov", "r m", "8b", "2 4 8"],
  ["mov", "r m", "8a", "1"],
  ["mov", "o i", "b8", "4"],
  ["mov", "m i", "c7 /0", "2 4 8"],
  ["mov", "m u", "c6 /0", "1"],
  ["movabs", "o q", "b8", "8"],
  ["movzx.b", "r m", "0f b6", "4 8", 1],
  ["movzx.w", "r m", "0f b7", "4 8", 2],
  ["movsx.b", "r m", "0f be", "4 8", 1],
  ["movsx.w", "r m", "0f bf", "4 8", 2],
  ["movsxd", "r m", "63", "8", 4],
  ["lea", "r p", "8d", "4 8"],
  ["imul", "r m", "0f af", "2 4 8"],
  ["bts", "m u", "0f ba /5", "4 8"],
  ["imul", "r m b", "6b", "2 4 8"],
  ["imul", "r m i", "69", "2 4 8"],
  ["not", "m", "f7 /2", "4 8"],
  ["neg", "m", "f7 /3", "4 8"],
  ["div", "m", "f7 /6", "4 8"],
  ["idiv", "m", "f7 /7", "4 8"],
  ["cdq", "", "99", "4"],
  ["cqo", "", "99", "8"],
  ["bsf", "r m", "0f bc", "4 8"],
  ["bsr", "r m", "0f bd", "4 8"],
  ["popcnt", "r m", "f3 0f b8", "4 8"],
  ["push", "o", "50", "-"],
  ["pop", "o", "58", "-"],
  ["call", "m", "ff /2", "-", 8],
  ["jmp", "m", "ff /4", "-", 8],
  ["ret", "", "c3", "-"],
  ["ret", "w", "c2", "-"],
  ["ud2", "", "0f 0b", "-"],
  ["syscall", "", "0f 05", "-"],
  ["mfence", "", "0f ae f0", "-"],
  ["pushf", "", "9c", "-"],
  ["popf", "", "9d", "-"],
  ["cld", "", "fc", "-"],
  ["std", "", "fd", "-"],
  ["rep movsb", "", "f3 a4", "-"],
  ["rep movsq", "", "f3 a5", "8"],
  ["rep stosb", "", "f3 aa", "-"],
  ["rep stosq", "", "f3 ab", "8"],
  ["xchg", "m r", "87", "2 4 8"],
  ["xchg", "m r", "86", "1"],
  ["lock xadd", "p r", "f0 0f c1", "2 4 8"],
  ["lock xadd", "p r", "f0 0f c0", "1"],
  ["lock cmpxchg", "p r", "f0 0f b1", "2 4 8"],
  ["lock cmpxchg", "p r", "f0 0f b0", "1"],
  ...CONDITIONS.flatMap((condition, i): FormRow[] => [
    [`set${condition}`, "m", `0f ${hex(0x90 + i)}`, "1"],
    [`cmov${condition}`, "r m", `0f ${hex(0x40 + i)}`, "4 8"],
  ]),
  ["movups", "x y", "0f 10", "-", 16],
  ["movups", "y x", "0f 11", "-", 16],
  ["movd", "x m", "66 0f 6e", "4"],
  ["movd", "m x", "66 0f 7e", "4"],
  ["movq", "x y", "f3 0f 7e", "-", 8],
  ["movq", "y x", "66 0f d6", "-", 8],
  ["movq", "x m", "66 0f 6e", "8"],
  ["movq", "m x", "66 0f 7e", "8"],
  ["pshufd", "x y u", "66 0f 70", "-", 16],
  ["pshuflw", "x y u", "f2 0f 70", "-", 16],
  ["palignr", "x y u", "66 0f 3a 0f", "-", 16],
  ["pinsrb", "x m u", "66 0f 3a 20", "-", 1],
  ["pinsrw", "x m u", "66 0f c4", "-", 2],
  ["pinsrd", "x m u", "66 0f 3a 22", "4"],
  ["pinsrq", "x m u", "66 0f 3a 22", "8"],
  ["pextrb", "m x u", "66 0f 3a 14", "-", 1],
  ["pextrw", "m x u", "66 0f 3a 15", "-", 2],
  ["pextrd", "m x u", "66 0f 3a 16", "4"],
  ["pextrq", "m x u", "66 0f 3a 16", "8"],
  ["pmovmskb", "r z", "66 0f d7", "-"],
  ["movmskps", "r z", "0f 50", "-"],
  ["movmskpd", "r z", "66 0f 50", "-"],
  ...Object.entries(VECTOR_OPERATIONS).map(
    ([name, opcode]): FormRow => [name, "x y", `66 0f ${opcode}`, "-", 16],
  ),
  ...Object.entries(LANE_SHIFTS).map(
    ([name, [opcode, digit]]): FormRow => [name, "z u", `66 0f ${opcode} /${digit}`, "-"],
  ),
];
