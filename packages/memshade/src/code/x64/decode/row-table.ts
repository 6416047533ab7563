import { GENERAL_NAMES } from "../registers.ts";
import { GENERAL_ROWS, X87_ROWS } from "./general-rows.ts";
import { FLOW, IMPLICIT, type Row, SIZES } from "./rows.ts";
import { VECTOR_ROWS } from "./vector-rows.ts";

/** Bits of a mask of registers behind the sixteen general ones. */
export const CARRY = 1 << 16;
export const OTHER_FLAGS = 1 << 17;
export const FLAGS = CARRY | OTHER_FLAGS;
export const ALL_REGISTERS = 0xffff | FLAGS;

/** What a place is for: bits of `access`. */
export const READ = 1;
export const WRITE = 2;
export const ADDRESS_ONLY = 4;

/** Kinds of constants behind ModRM and displacement. */
export const CONSTANT = {
  none: 0,
  b: 1,
  w: 2,
  z: 3,
  v: 4,
  moffs: 5,
  shortDistance: 6,
  distance: 7,
  /** of two bytes and of one */
  enter: 8,
} as const;

/** Widths of a role: at least 4 bytes, operand size, byte, word. */
export const WIDTH = { full: 0, operand: 1, byte: 2, word: 3 } as const;
const WIDTHS: Readonly<Record<string, number>> = { v: WIDTH.operand, b: WIDTH.byte, w: WIDTH.word };

/** The order of the roles of registers in a row. */
export const ROLE = { G: 0, E: 1, B: 2, Z: 3, A: 4 } as const;

export const ENCODINGS = { L: 0, V: 1, E: 2, X: 3 } as const;
const MAPS: Readonly<Record<string, number>> = { "": 0, "0f": 1, "0f 38": 2, "0f 3a": 3, "08": 0, "09": 1 };
const COLUMNS: Readonly<Record<string, number>> = { "66": 1, f3: 2, f2: 3 };
const VARIANTS = 16;
const FIRST_REGISTER_VARIANT = 8;

/** Rows by `slotOf`; 0: there is no such instruction. */
export const ROW_OF_SLOT = new Uint16Array(4 * 4 * 256 * 4 * VARIANTS);

interface Meaning {
  hasModRm: boolean;
  hasVectorIndex: boolean;
  constant: number;
  /** a value of `SIZES`, and bits of `access` */
  size: number;
  access: number;
  roles: number;
  reads: number;
  writes: number;
  kills: number;
  flow: number;
  implicit: number;
  /** which variants of ModRM exist */
  mode: "" | "m" | "r";
}

/** Words of a row, and what each of them is. */
export const ROW_WORDS = 8;
export const COLUMN = {
  /** Bit 0: ModRM follows; 1: its place has a vector of indices; 4 to 7: `CONSTANT`; 8 to 15: size; 16 to 18: access. */
  shape: 0,
  /** Bits 0 to 7: flow; 8 to 15: implicit memory. */
  effects: 1,
  reads: 2,
  writes: 3,
  kills: 4,
  /** Four bits for each of `ROLE`: two of `READ` and `WRITE`, two of its width. */
  roles: 5,
} as const;
/** Some 2,400 there are. */
export const ROWS = new Int32Array(ROW_WORDS * 4096);
let rows = 0;

/** Fills the table. It is called by whoever finds it empty: that takes some 20 ms, and most starts of the program decode nothing. */
export function compileRows(): void {
  if (rows === 0) compile([...GENERAL_ROWS, ...X87_ROWS, ...VECTOR_ROWS]);
}

function wordsOf(meaning: Meaning): number[] {
  const { reads, writes, kills, roles, flow, implicit } = meaning;
  const { hasModRm, hasVectorIndex, constant, size, access } = meaning;
  const shape =
    Number(hasModRm) | (Number(hasVectorIndex) << 1) | (constant << 4) | (size << 8) | (access << 16);
  return [shape, flow | (implicit << 8), reads, writes, kills, roles];
}

/** The first of the sixteen variants of an opcode: the digit of ModRM, and 8 where that names a register. */
export function slotOf(encoding: number, map: number, opcode: number, prefix: number): number {
  return ((((encoding * 4 + map) << 8) | opcode) * 4 + prefix) * VARIANTS;
}

function compile(all: readonly Row[]): void {
  for (const [encodings, text, does] of all) {
    const { map, first, last, digit, mode, columns } = readOpcode(text);
    const parts = does.split("|").map((part) => part.trim());
    for (const column of columns) {
      const part = parts[parts.length === 1 ? 0 : column];
      if (part === "-") continue;
      const meaning = meaningOf(part);
      const id = ++rows;
      ROWS.set(wordsOf(meaning), ROW_WORDS * id);
      for (const encoding of encodings)
        for (let opcode = first; opcode <= last; opcode++)
          for (let variant = 0; variant < VARIANTS; variant++) {
            const isRegister = variant >= FIRST_REGISTER_VARIANT;
            if (digit !== undefined && digit !== variant % FIRST_REGISTER_VARIANT) continue;
            if ([mode, meaning.mode].includes(isRegister ? "m" : "r")) continue;
            ROW_OF_SLOT[slotOf(ENCODINGS[encoding as "L"], map, opcode, column) + variant] = id;
          }
    }
  }
}

function readOpcode(text: string) {
  const [bytes, ...rest] = text.split(/ (?=[/mr])/);
  const words = bytes.split(" ");
  const mandatory = words.length > 1 ? COLUMNS[words[0]] : undefined;
  if (mandatory !== undefined) words.shift();
  const [first, last] = (words.pop() as string).split("-").map((byte) => Number.parseInt(byte, 16));
  const digit = rest.find((word) => word.startsWith("/"))?.slice(1);
  return {
    map: MAPS[words.join(" ")],
    first,
    last: last ?? first,
    digit: digit === undefined ? undefined : Number(digit),
    mode: rest.find((word) => !word.startsWith("/")) ?? "",
    columns: mandatory === undefined ? [0, 1, 2, 3] : [mandatory],
  };
}

function meaningOf(text: string): Meaning {
  const meaning: Meaning = {
    hasModRm: false,
    hasVectorIndex: false,
    constant: 0,
    size: 0,
    access: 0,
    roles: 0,
    reads: 0,
    writes: 0,
    kills: 0,
    flow: FLOW.next,
    implicit: IMPLICIT.none,
    mode: "",
  };
  for (const word of text.split(" ").filter(Boolean))
    if (word.startsWith("@")) addPath(meaning, word.slice(1));
    else if (/^[A-Z]/.test(word)) addOperand(meaning, word);
    else addEffect(meaning, word.slice(0, -1), word.slice(-1));
  if (meaning.implicit === IMPLICIT.push || meaning.implicit === IMPLICIT.pop || isCall(meaning.flow)) {
    meaning.reads |= 1 << GENERAL_NAMES.indexOf("rsp");
    meaning.writes |= 1 << GENERAL_NAMES.indexOf("rsp");
  }
  return meaning;
}

function isCall(flow: number): boolean {
  return flow === FLOW.call || flow === FLOW.indirectCall || flow === FLOW.return;
}

function addPath(meaning: Meaning, name: string): void {
  if (name in FLOW) meaning.flow = FLOW[name as keyof typeof FLOW];
  else meaning.implicit = IMPLICIT[name as keyof typeof IMPLICIT];
}

function addOperand(meaning: Meaning, [kind, size, role]: string): void {
  const access = role === "=" ? WRITE : role === "+" ? READ | WRITE : role === "!" ? ADDRESS_ONLY : READ;
  if (kind === "I") meaning.constant = meaning.constant !== 0 ? CONSTANT.enter : CONSTANT[size as "b"];
  else if (kind === "J") meaning.constant = size === "b" ? CONSTANT.shortDistance : CONSTANT.distance;
  else if (kind === "O")
    Object.assign(meaning, { constant: CONSTANT.moffs, size: SIZES[size as "b"], access });
  const inModRm = "EGWUMS".includes(kind);
  meaning.hasModRm ||= inModRm;
  if (kind === "M" || kind === "S") meaning.mode = "m";
  if (kind === "U") meaning.mode = "r";
  meaning.hasVectorIndex ||= kind === "S";
  if ("EWMS".includes(kind)) Object.assign(meaning, { size: SIZES[size as "b"], access });
  if (kind in ROLE && access !== ADDRESS_ONLY && size !== "n")
    meaning.roles |= (access | ((WIDTHS[size] ?? WIDTH.full) << 2)) << (4 * ROLE[kind as keyof typeof ROLE]);
}

function addEffect(meaning: Meaning, name: string, how: string): void {
  const known: Record<string, number> = { carry: CARRY, rest: OTHER_FLAGS, flags: FLAGS, all: ALL_REGISTERS };
  const mask = known[name] ?? 1 << (GENERAL_NAMES as readonly string[]).indexOf(name);
  if (how === "?") meaning.reads |= mask;
  else meaning.writes |= mask;
  if (how === "=") meaning.kills |= mask;
}
