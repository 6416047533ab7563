import { FormatError } from "../bytes/errors.ts";
import { FORMS } from "./forms.ts";
import { int32, isPlace, isRegister, type Operand, placeBytes, type RelativePlace } from "./operands.ts";
import { RCX, type Register } from "./registers.ts";

/** A row of the table, taken apart. */
export interface Form {
  mnemonic: string;
  operands: readonly string[];
  /** A prefix that belongs to the opcode, or none. */
  prefix: number | undefined;
  opcode: readonly number[];
  digit: number | undefined;
  sizes: readonly number[];
  /** Bytes of the operand that may lie in memory; undefined: the size of the instruction. */
  memory: number | undefined;
}

export type OperandSize = 1 | 2 | 4 | 8;

/** What one instruction becomes; `relative` is at the last `tail + 4` bytes, where four are left for the distance. */
export interface Encoded {
  bytes: number[];
  relative?: { target: RelativePlace["target"]; tail: number };
}

const PREFIXES = [0x66, 0xf0, 0xf2, 0xf3];
const THREAD_PREFIX = 0x64;
const REX = 0x40;
/** Size of a form in which no size is encoded. */
const ANY_SIZE = 0;

const formsByMnemonic = new Map<string, Form[]>();
for (const [mnemonic, operands, text, sizes, memory] of FORMS) {
  const [, digit] = text.split(" /");
  const bytes = text.split(" /")[0].split(" ").map((byte) => Number.parseInt(byte, 16));
  // A prefix alone is an opcode of its own.
  const prefix = bytes.length > 1 && PREFIXES.includes(bytes[0]) ? bytes.shift() : undefined;
  const form: Form = {
    ...{ mnemonic, operands: operands.split(" ").filter(Boolean), prefix, opcode: bytes, memory },
    digit: digit === undefined ? undefined : Number(digit),
    sizes: sizes === "-" ? [ANY_SIZE] : sizes.split(" ").map(Number),
  };
  formsByMnemonic.set(mnemonic, [...(formsByMnemonic.get(mnemonic) ?? []), form]);
}

/** Whether an operand can stand where a form has a letter of the table's second column. */
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
  i: (operand, size) => isNumber(operand) && operand >= -(2 ** 31) && operand < (size === 8 ? 2 ** 31 : 2 ** 32),
  q: (operand) => typeof operand === "bigint",
};

/** The bytes of an instruction. `size`: of its operands, in bytes; without meaning where the form encodes none. */
export function encode(mnemonic: string, size: OperandSize, operands: readonly Operand[]): Encoded {
  const form = formsByMnemonic.get(mnemonic)?.find((one) => fits(one, size, operands));
  if (form === undefined) {
    const detail = `there is no form of ${mnemonic} with ${operands.length} such operands of ${size} bytes`;
    throw new FormatError("unsupported", 0, "instruction", detail);
  }
  return encodeForm(form, form.sizes[0] === ANY_SIZE ? ANY_SIZE : size, operands);
}

function fits(form: Form, size: number, operands: readonly Operand[]): boolean {
  return (
    form.operands.length === operands.length &&
    (form.sizes.includes(size) || form.sizes[0] === ANY_SIZE) &&
    form.operands.every((letter, i) => FITS[letter](operands[i], size))
  );
}

function encodeForm(form: Form, size: number, operands: readonly Operand[]): Encoded {
  const by = (letters: string) => operands[form.operands.findIndex((letter) => letters.includes(letter))];
  const reg = by("rx") as Register | undefined;
  const rm = by("mpyzo");
  const field = form.digit ?? reg?.number ?? 0;
  const tail = constantBytes(form, size, operands);

  const bytes: number[] = [];
  if (rm !== undefined && isPlace(rm) && rm.kind === "place" && rm.thread) bytes.push(THREAD_PREFIX);
  if (size === 2) bytes.push(0x66);
  if (form.prefix !== undefined) bytes.push(form.prefix);
  const rex = (size === 8 ? 8 : 0) | (reg !== undefined ? (reg.number >> 3) << 2 : 0) | rmBits(rm);
  if (rex !== 0 || needsEmptyRex(form, size, operands)) bytes.push(REX | rex);
  bytes.push(...form.opcode);
  if (rm === undefined) return { bytes: [...bytes, ...tail] };
  if (form.operands.includes("o")) {
    bytes[bytes.length - 1] += (rm as Register).number & 7;
    return { bytes: [...bytes, ...tail] };
  }
  if (isRegister(rm)) bytes.push(0xc0 | ((field & 7) << 3) | (rm.number & 7));
  else if (isPlace(rm) && rm.kind === "place") bytes.push(...placeBytes(rm, field));
  else {
    bytes.push(((field & 7) << 3) | 5, 0, 0, 0, 0, ...tail);
    return { bytes, relative: { target: (rm as RelativePlace).target, tail: tail.length } };
  }
  bytes.push(...tail);
  return { bytes };
}

function rmBits(rm: Operand | undefined): number {
  if (rm === undefined) return 0;
  if (isRegister(rm)) return rm.number >> 3;
  if (!isPlace(rm) || rm.kind !== "place") return 0;
  return ((rm.base?.number ?? 0) >> 3) | (((rm.index?.number ?? 0) >> 3) << 1);
}

/** Without the prefix, the numbers 4 to 7 of bytes mean ah to bh. */
function needsEmptyRex(form: Form, size: number, operands: readonly Operand[]): boolean {
  return operands.some((operand, i) => {
    if (!isGeneral(operand) || operand.number < 4 || form.operands[i] === "c") return false;
    return size === 1 || (form.operands[i] === "m" && form.memory === 1 && form.operands[0] === "r");
  });
}

function constantBytes(form: Form, size: number, operands: readonly Operand[]): number[] {
  const at = form.operands.findIndex((letter) => "buiq".includes(letter));
  if (at < 0) return [];
  const value = operands[at] as number | bigint;
  const letter = form.operands[at];
  if (letter === "q") return [...int32(Number(BigInt.asIntN(32, value as bigint))), ...high(value as bigint)];
  if (letter === "i") return int32(Number(value)).slice(0, size === 2 ? 2 : 4);
  return [Number(value) & 0xff];
}

function high(value: bigint): number[] {
  return int32(Number(BigInt.asIntN(32, value >> 32n)));
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
