import { FormatError } from "../../ground/bytes/errors.ts";
import { FORMS } from "./forms.ts";
import {
  isPlace,
  isRegister,
  type Operand,
  type Place,
  putInt32,
  putPlace,
  type RelativePlace,
} from "./operands.ts";
import { RCX, type Register } from "./registers.ts";

interface Form {
  fits: readonly ((operand: Operand, size: number) => boolean)[];
  prefix: number | undefined;
  opcode: readonly number[];
  digit: number | undefined;
  /** mask: bit n for sizes of n bytes; 0: the size is not encoded */
  sizes: number;
  /** Index of the operand in the reg field, in the r/m field or the opcode, and of a constant; −1 for none. */
  reg: number;
  rm: number;
  constant: number;
  letter: string;
  isInOpcode: boolean;
  /**
   * Operands whose low byte needs an empty REX if the operands are bytes, or if the instruction reads a byte from
   * memory.
   */
  byteOperands: readonly number[];
  readsByte: number;
}

export type OperandSize = 1 | 2 | 4 | 8;

export interface Encoded {
  bytes: number[];
  relative?: { target: RelativePlace["target"]; tail: number };
}

const PREFIXES = [0x66, 0xf0, 0xf2, 0xf3];
const THREAD_PREFIX = 0x64;
const REX = 0x40;
const FITS: Readonly<Record<string, (operand: Operand, size: number) => boolean>> = {
  r: isGeneral,
  o: isGeneral,
  m: (operand) => isGeneral(operand) || isPlace(operand),
  p: isPlace,
  x: isVector,
  z: isVector,
  y: (operand) => isVector(operand) || isPlace(operand),
  c: (operand) => operand === RCX,
  1: (operand) => operand === 1,
  b: (operand) => isNumber(operand) && operand >= -0x80 && operand < 0x80,
  u: (operand) => isNumber(operand) && operand >= 0 && operand < 0x100,
  w: (operand) => isNumber(operand) && operand >= 0 && operand < 0x1_0000,
  i: (operand, size) =>
    isNumber(operand) && operand >= -(2 ** 31) && operand < (size === 8 ? 2 ** 31 : 2 ** 32),
  q: (operand) => typeof operand === "bigint",
};

const formsByMnemonic = new Map<string, Form[]>();
for (const [mnemonic, operands, text, sizes, memory] of FORMS) {
  const [, digit] = text.split(" /");
  const bytes = text
    .split(" /")[0]
    .split(" ")
    .map((byte) => Number.parseInt(byte, 16));
  // A prefix alone is an opcode of its own.
  const prefix = bytes.length > 1 && PREFIXES.includes(bytes[0]) ? bytes.shift() : undefined;
  const letters = operands.split(" ").filter(Boolean);
  const indexOf = (kinds: string) => letters.findIndex((letter) => kinds.includes(letter));
  const constant = indexOf("buwiq");
  const form: Form = {
    fits: letters.map((letter) => FITS[letter]),
    prefix,
    opcode: bytes,
    digit: digit === undefined ? undefined : Number(digit),
    sizes: sizes === "-" ? 0 : sizes.split(" ").reduce((mask, size) => mask | (1 << Number(size)), 0),
    reg: indexOf("rx"),
    rm: indexOf("mpyzo"),
    constant,
    letter: letters[constant] ?? "",
    isInOpcode: letters.includes("o"),
    byteOperands: letters.flatMap((letter, i) => ("rom".includes(letter) ? [i] : [])),
    readsByte: memory === 1 && letters[0] === "r" ? letters.indexOf("m") : -1,
  };
  formsByMnemonic.set(mnemonic, [...(formsByMnemonic.get(mnemonic) ?? []), form]);
}

/** Encodes an instruction. `size`: bytes of its operands, ignored if the form encodes none. */
export function encode(mnemonic: string, size: OperandSize, operands: readonly Operand[]): Encoded {
  const bytes: number[] = [];
  const relative = putInstruction(bytes, mnemonic, size, operands);
  return relative === undefined ? { bytes } : { bytes, relative };
}

export function putInstruction(
  bytes: number[],
  mnemonic: string,
  size: OperandSize,
  operands: readonly Operand[],
): Encoded["relative"] {
  const forms = formsByMnemonic.get(mnemonic);
  if (forms !== undefined)
    for (const form of forms)
      if (fits(form, size, operands)) return putForm(bytes, form, form.sizes === 0 ? 0 : size, operands);
  const detail = `there is no form of ${mnemonic} with ${operands.length} such operands of ${size} bytes`;
  throw new FormatError("unsupported", 0, "instruction", detail);
}

function fits(form: Form, size: number, operands: readonly Operand[]): boolean {
  if (form.fits.length !== operands.length) return false;
  if (form.sizes !== 0 && (form.sizes & (1 << size)) === 0) return false;
  for (let i = 0; i < operands.length; i++) if (!form.fits[i](operands[i], size)) return false;
  return true;
}

/** `size`: 0 if none is encoded. */
function putForm(
  bytes: number[],
  form: Form,
  size: number,
  operands: readonly Operand[],
): Encoded["relative"] {
  const { prefix, opcode, digit, isInOpcode } = form;
  const reg = form.reg < 0 ? undefined : (operands[form.reg] as Register);
  const rm = form.rm < 0 ? undefined : operands[form.rm];
  if (rm !== undefined && isPlace(rm) && rm.kind === "place" && rm.thread) bytes.push(THREAD_PREFIX);
  if (size === 2) bytes.push(0x66);
  if (prefix !== undefined) bytes.push(prefix);
  const rex = (size === 8 ? 8 : 0) | (reg !== undefined ? (reg.number >> 3) << 2 : 0) | rmBits(rm);
  if (rex !== 0 || needsEmptyRex(form, size, operands)) bytes.push(REX | rex);
  for (const byte of opcode) bytes.push(byte);
  let relative: RelativePlace | undefined;
  if (rm !== undefined) {
    const field = digit ?? reg?.number ?? 0;
    if (isInOpcode) bytes[bytes.length - 1] += (rm as Register).number & 7;
    else if (isRegister(rm)) bytes.push(0xc0 | ((field & 7) << 3) | (rm.number & 7));
    else if ((rm as Place | RelativePlace).kind === "place") putPlace(bytes, rm as Place, field);
    else {
      bytes.push(((field & 7) << 3) | 5, 0, 0, 0, 0);
      relative = rm as RelativePlace;
    }
  }
  const end = bytes.length;
  if (form.constant >= 0) putConstant(bytes, form.letter, size, operands[form.constant] as number | bigint);
  return relative && { target: relative.target, tail: bytes.length - end };
}

function rmBits(rm: Operand | undefined): number {
  if (rm === undefined) return 0;
  if (isRegister(rm)) return rm.number >> 3;
  if (!isPlace(rm) || rm.kind !== "place") return 0;
  return ((rm.base?.number ?? 0) >> 3) | (((rm.index?.number ?? 0) >> 3) << 1);
}

/** Byte registers 4 to 7 mean ah to bh without the prefix. */
function needsEmptyRex(
  { byteOperands, readsByte }: Form,
  size: number,
  operands: readonly Operand[],
): boolean {
  const isHigh = (operand: Operand) => isGeneral(operand) && operand.number >= 4;
  if (size === 1) return byteOperands.some((i) => isHigh(operands[i]));
  return readsByte >= 0 && isHigh(operands[readsByte]);
}

function putConstant(bytes: number[], letter: string, size: number, value: number | bigint): void {
  if (letter === "q") {
    putInt32(bytes, Number(BigInt.asIntN(32, value as bigint)));
    putInt32(bytes, Number(BigInt.asIntN(32, (value as bigint) >> 32n)));
  } else {
    const number = Number(value);
    if (letter === "w" || (letter === "i" && size === 2)) bytes.push(number & 0xff, (number >> 8) & 0xff);
    else if (letter === "i") putInt32(bytes, number);
    else bytes.push(number & 0xff);
  }
}

function isGeneral(operand: Operand): operand is Register {
  return isRegister(operand) && operand.kind === "general";
}

function isVector(operand: Operand): boolean {
  return isRegister(operand) && operand.kind === "vector";
}

function isNumber(operand: Operand): operand is number {
  return typeof operand === "number";
}
