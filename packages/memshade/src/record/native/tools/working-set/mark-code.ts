import { GENERAL, type Register } from "../../../../code/x64/index.ts";
import { type Place, placeBytes } from "../../../../code/x64/operands.ts";
import { LINE_SHIFT, MARK_BYTES, MARKS } from "./layout.ts";

/** What was done to a line: bits as the decoder's `READ` and `WRITE`. */
export type Planes = number;
const [READ, BOTH] = [1, 3];

/** A byte of a place whose line is marked. */
export interface Mark {
  /** bytes behind base and index */
  displacement: number;
  planes: Planes;
}

/** What addresses of the program are made of, without displacement. */
export interface Registers {
  base: Register | undefined;
  index: Register | undefined;
  scale: Place["scale"];
  /** Addresses have 32 bits. */
  isShort: boolean;
}

/** The same addresses, made of registers that have the values of others. */
export function renamed(
  { base, index, ...rest }: Registers,
  holderOf: (register: number) => number,
): Registers {
  const other = (one: Register | undefined) => one && GENERAL[holderOf(one.number)];
  return { ...rest, base: other(base), index: other(index) };
}

/** `lea`, `shr` and `mov`, for each mark; `register` is overwritten, and the flags. */
export function markPlaces(registers: Registers, marks: readonly Mark[], register: number): number[] {
  return marks.flatMap(({ displacement, planes }) => [
    ...loadAddress(registers, displacement, register),
    ...lineOf(register),
    ...setMark(register, 0, planes),
  ]);
}

function loadAddress({ isShort, ...place }: Registers, displacement: number, register: number): number[] {
  const rex =
    0x48 |
    ((register >> 3) << 2) |
    ((place.index?.number ?? 0) & 8 ? 2 : 0) |
    ((place.base?.number ?? 0) >> 3);
  const bytes = placeBytes({ kind: "place", ...place, displacement }, register);
  return [...(isShort ? [0x67] : []), rex, 0x8d, ...bytes];
}

/** Where the distance stands in `markLines`. */
export const DISTANCE_AT = 3;

/** The same for lines at distances, in lines, from the one of an address that is at a known distance from the code. */
export function markLines(lines: readonly { line: number; planes: Planes }[], register: number): number[] {
  const high = register >> 3;
  return [
    0x48 | (high << 2),
    0x8d,
    ((register & 7) << 3) | 5,
    0,
    0,
    0,
    0,
    ...lineOf(register),
    ...lines.flatMap(({ line, planes }) => setMark(register, line, planes)),
  ];
}

/** `shr $6, register` */
function lineOf(register: number): number[] {
  return [0x48 | (register >> 3), 0xc1, 0xe8 | (register & 7), LINE_SHIFT];
}

/** `movb $1`, or `movw $0x101` for both, to the marks of the line in the register, and so many lines behind it. */
function setMark(register: number, lines: number, planes: Planes): number[] {
  const displacement = MARKS + MARK_BYTES * lines + (planes === READ || planes === BOTH ? 0 : 1);
  const at = placeBytes(
    { kind: "place", base: undefined, index: GENERAL[register], scale: MARK_BYTES, displacement },
    0,
  );
  const rex = register > 7 ? [0x42] : [];
  return planes === BOTH ? [0x66, ...rex, 0xc7, ...at, 1, 1] : [...rex, 0xc6, ...at, 1];
}
