import { FormatError } from "../../ground/bytes/errors.ts";
import { RBP, type Register, RSP } from "./registers.ts";

/** Position in the code, bound once, before or after its first use. */
export type Label = number & { readonly brand: "label" };

/** Memory operand: base + index · scale + displacement, as the instruction set computes it. */
export interface Place {
  readonly kind: "place";
  readonly base?: Register | undefined;
  readonly index?: Register | undefined;
  readonly scale: 1 | 2 | 4 | 8;
  /** signed, 32 bits */
  readonly displacement: number;
  /** relative to the thread's storage */
  readonly thread?: boolean;
}

/** Place at a fixed distance from the instruction: a label of this code, or a symbol that the loader places. */
export interface RelativePlace {
  readonly kind: "relative";
  readonly target: Label | string;
}

export type Operand = Register | Place | RelativePlace | number | bigint;

export function place(
  base: Register | undefined,
  displacement = 0,
  index?: Register,
  scale: Place["scale"] = 1,
): Place {
  return { kind: "place", base, index, scale, displacement };
}

export function relative(target: Label | string): RelativePlace {
  return { kind: "relative", target };
}

export function isRegister(operand: Operand): operand is Register {
  return typeof operand === "object" && (operand.kind === "general" || operand.kind === "vector");
}

export function isPlace(operand: Operand): operand is Place | RelativePlace {
  return typeof operand === "object" && (operand.kind === "place" || operand.kind === "relative");
}

const SCALE_BITS = { 1: 0, 2: 1, 4: 2, 8: 3 } as const;
/** Values of the base field: no base, or a byte for base and index follows. */
const NO_BASE = 5;
const MORE = 4;
const NO_INDEX = 4;

/** Bytes of ModRM, SIB and displacement for a place, without bit 3 of its registers. `field`: the other operand. */
export function placeBytes(at: Place, field: number): number[] {
  const bytes: number[] = [];
  putPlace(bytes, at, field);
  return bytes;
}

export function putPlace(bytes: number[], at: Place, field: number): void {
  const { base, index, displacement } = at;
  const scale = index === undefined ? 0 : SCALE_BITS[at.scale];
  if (index === RSP || displacement !== (displacement | 0))
    throw new FormatError("malformed", 0, "place operand", "no instruction can have it");
  const reg = (field & 7) << 3;
  const inner = index === undefined ? NO_INDEX : index.number & 7;
  if (base === undefined) {
    bytes.push(reg | MORE, (scale << 6) | (inner << 3) | NO_BASE);
    putInt32(bytes, displacement);
    return;
  }
  const low = base.number & 7;
  const short = displacement === (displacement << 24) >> 24;
  // rbp and r13 have no form without displacement.
  const none = displacement === 0 && low !== RBP.number;
  const mode = none ? 0 : short ? 0x40 : 0x80;
  if (index === undefined && low !== RSP.number) bytes.push(mode | reg | low);
  else bytes.push(mode | reg | MORE, (scale << 6) | (inner << 3) | low);
  if (none) return;
  if (short) bytes.push(displacement & 0xff);
  else putInt32(bytes, displacement);
}

export function int32(value: number): number[] {
  return [value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff];
}

export function putInt32(bytes: number[], value: number): void {
  bytes.push(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff);
}
